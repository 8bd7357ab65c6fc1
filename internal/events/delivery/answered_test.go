package delivery

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestLastAnswersAreWrittenOnceASecond(t *testing.T) {
	good, bad, recovering := &counts{answered: true, delivered: true}, &counts{failures: 1}, &counts{failing: true, answered: true, delivered: true}
	a, now := newAnswered(), time.Unix(1000, 0)
	for i, step := range []struct {
		after time.Duration
		c     *counts
		waits bool
	}{
		{0, good, false}, // the first result of the subscription
		{300 * time.Millisecond, good, true},
		{300 * time.Millisecond, good, true},
		{500 * time.Millisecond, good, false},
		{100 * time.Millisecond, bad, false},
		{0, good, false}, // the failure counters must be reset
		{0, recovering, false},
		{time.Millisecond, good, true},
	} {
		now = now.Add(step.after)
		if got := a.waits("s", step.c, now); got != step.waits {
			t.Fatalf("step %d: waits is %v", i, got)
		}
		a.stored(map[string]*counts{"s": step.c}, now, now.UnixMicro())
	}
	if due := a.due(now, false); len(due) != 0 {
		t.Error("an answer is due that was written within the second")
	}
	later := now.Add(time.Millisecond) // another receiver answers later
	for range 2 {
		a.stored(map[string]*counts{"t": good}, later, later.UnixMicro())
	}
	due := a.due(later.Add(answeredEvery), false)
	if want := map[int64][]string{now.UnixMicro(): {"s"}, later.UnixMicro(): {"t"}}; !maps.EqualFunc(due, want, slices.Equal) {
		t.Errorf("due are %v, want %v", due, want)
	}
	if len(a.written)+len(a.later) != 0 {
		t.Error("what is written is not forgotten")
	}
}

// TestManyResultsLeaveTheNewestReceipts stores a large group of results. Only the newest of these
// results must have receipts afterwards.
func TestManyResultsLeaveTheNewestReceipts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(n, sub, 3*maxReceipts)
		claimed, r := f.claimed(n, sub)
		for group := range slices.Chunk(claimed, 3*maxReceipts/2) {
			var done []*result
			for _, d := range group {
				done = append(done, &result{d: d, receiver: r, outcome: Delivered, status: 200})
			}
			f.store(n, done...)
		}
		newest := claimed[len(claimed)-1].ID
		if got := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 1"); got != 3*maxReceipts {
			t.Errorf("%d deliveries are settled", got)
		}
		if got := f.count("SELECT COUNT(*) FROM webhook_receipt"); got != 2*maxReceipts {
			t.Errorf("%d receipts", got)
		}
		if got := f.count("SELECT COUNT(*) FROM webhook_receipt WHERE delivery_id = ? AND id = (SELECT MAX(id) FROM webhook_receipt)", newest); got != 1 {
			t.Error("the newest receipt is not that of the last result")
		}
	})
}
