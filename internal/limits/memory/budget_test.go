package memory

import (
	"context"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

func TestBudget(t *testing.T) {
	b := NewBudget(100)
	one, two, other := b.Hold("m"), b.Hold("m"), b.Hold("n")
	want := func(what string, err error, kind fault.Kind, used int64) {
		t.Helper()
		if got, _ := b.Used(); err == nil && kind != fault.Internal || err != nil && fault.KindOf(err) != kind || got != used {
			t.Errorf("%s: %v, %d bytes used, want %d", what, err, got, used)
		}
	}
	want("more than a share", one.Take(51), fault.Invalid, 0)
	want("some", one.Take(30), fault.Internal, 30)
	want("in two steps more than a share", one.Take(21), fault.Invalid, 30)
	want("the same member's share", two.Take(21), fault.Transient, 30)
	want("the rest of the share", two.Take(20), fault.Internal, 50)
	want("another member", other.Take(50), fault.Internal, 100)
	want("a third", b.Hold("o").Take(1), fault.Transient, 100)
	one.Give(10)
	want("given back", two.Take(10), fault.Internal, 100)
	one.Release()
	one.Release()
	two.Release()
	other.Release()
	want("all released", nil, fault.Internal, 0)
	if first, second := b.Peak(), b.Peak(); first != 100 || second != 0 {
		t.Errorf("peaks %d and %d", first, second)
	}
	if len(b.byKey) != 0 {
		t.Errorf("%d members are remembered", len(b.byKey))
	}
}

func TestNoHold(t *testing.T) {
	h := From(context.Background())
	if h != nil || h.Take(1<<40) != nil {
		t.Error("a request without a hold is refused")
	}
	h.Give(1)
	h.Release()
	b := NewBudget(10)
	if mine := b.Hold(1); From(With(context.Background(), mine)) != mine {
		t.Error("the context does not carry its hold")
	}
}
