package trail

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/model/oid"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rows returns the rows that notes writes at an instant, printed and sorted.
func rows(f *notes, at time.Time, end bool) []string {
	var all []string
	for _, n := range f.take(at, end) {
		all = append(all, fmt.Sprintf("%s %s %s ×%d", n.event.Kind, n.event.Address, n.event.Detail.Reason, n.n))
	}
	slices.Sort(all)
	return all
}

func refused(address, reason string) Event {
	return Event{Kind: SignInRefused, Address: address, Detail: Detail{Scheme: "basic", Reason: reason}}
}

func expectRows(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestEqualEventsAreOneRowAMinute checks that the first of equal events is written at once. Later
// equal events are one row each minute, and the last events are written at the end.
func TestEqualEventsAreOneRowAMinute(t *testing.T) {
	f := newNotes()
	at := start
	note := func(n int) {
		for range n {
			f.add(refused("192.0.2.1", "wrong password"), at)
		}
	}
	note(1)
	expectRows(t, "the first", rows(f, at, false), "SignInRefused 192.0.2.1 wrong password ×1")
	for range 59 {
		at = at.Add(time.Second)
		note(100)
		expectRows(t, "within the minute", rows(f, at, false))
	}
	at = at.Add(time.Second)
	expectRows(t, "after it", rows(f, at, false), "SignInRefused 192.0.2.1 wrong password ×5900")
	at = at.Add(time.Second)
	note(3)
	expectRows(t, "in the next one", rows(f, at, false))
	expectRows(t, "at the end", rows(f, at, true), "SignInRefused 192.0.2.1 wrong password ×3")
	at = at.Add(2 * time.Minute)
	expectRows(t, "when it is over", rows(f, at, false))
	if len(f.all) != 0 || len(f.sources) != 0 || f.kinds[SignInRefused] != 0 {
		t.Errorf("kept: %d events, %d sources, %d of the kind", len(f.all), len(f.sources), f.kinds[SignInRefused])
	}
}

// TestTheEventsOfOneSourceAreBounded checks that only some different events of one source are
// recorded separately. A source is the whole network of an IPv6 client, or a member with all its
// requests.
func TestTheEventsOfOneSourceAreBounded(t *testing.T) {
	f := newNotes()
	for i := range 1000 {
		f.add(refused(fmt.Sprintf("2001:db8::%x", i), "wrong password"), start)
	}
	f.add(refused("2001:db8:0:1::1", "wrong password"), start)
	all := rows(f, start, false)
	if len(all) != maxOfSource+2 || !slices.Contains(all, "SignInRefused 2001:db8::/64  ×984") || !slices.Contains(all, "SignInRefused 2001:db8:0:1::1 wrong password ×1") {
		t.Errorf("%d rows: %q", len(all), all)
	}
	f = newNotes()
	for i := range 1000 {
		f.add(Event{Kind: Denied, Actor: 1001, Address: fmt.Sprintf("192.0.2.%d", i%200), Asset: oid.OID{Type: "Story", ID: int64(i)}}, start)
	}
	if all := rows(f, start, false); len(all) != maxOfSource+1 || !slices.Contains(all, "Denied   ×984") {
		t.Errorf("%d rows: %q", len(all), all)
	}
}

// TestFloodsAreBounded checks that the number of different events of a kind is bounded, for any
// number of sources. Further events are only counted. Other kinds are not affected.
func TestFloodsAreBounded(t *testing.T) {
	f := newNotes()
	written := 0
	for second := range 120 {
		at := start.Add(time.Duration(second) * time.Second)
		for i := range 1000 {
			f.add(refused(fmt.Sprintf("10.%d.%d.%d", second, i/250, i%250), "unknown username"), at)
		}
		written += len(f.take(at, false))
		if len(f.all) > maxNoted+1 {
			t.Fatalf("%d events in memory", len(f.all))
		}
	}
	if written > 3*maxNoted+3 {
		t.Errorf("%d rows of 120,000 events in two minutes", written)
	}
	at := start.Add(2 * time.Minute)
	f.add(Event{Kind: Denied, Actor: 1001}, at)
	all := rows(f, at, true)
	if !slices.Contains(all, "Denied   ×1") {
		t.Errorf("no room for another kind: %q", all[:min(3, len(all))])
	}
	dropped := 0
	for _, n := range f.all {
		if n.event.Kind == Unrecorded {
			dropped++
		}
	}
	if dropped != 1 {
		t.Errorf("%d counts of what was dropped", dropped)
	}
}

// TestEveryEventIsCounted checks that events are counted even if they are not recorded separately.
func TestEveryEventIsCounted(t *testing.T) {
	f := newNotes()
	want, got := 0, 0
	for i := range 5000 {
		f.add(refused(fmt.Sprintf("10.0.%d.%d", i/250, i%250), fmt.Sprint(i%3)), start.Add(time.Duration(i)*10*time.Millisecond))
		want++
		if i%100 == 99 {
			for _, n := range f.take(start.Add(time.Duration(i)*10*time.Millisecond), false) {
				got += n.n
			}
		}
	}
	for _, n := range f.take(start.Add(time.Hour), true) {
		got += n.n
	}
	if got != want {
		t.Errorf("%d counted, want %d", got, want)
	}
}

// BenchmarkNote measures the cost of a refused sign-in that equals a known event, of one of many
// refused sign-ins of a source, and of a refused sign-in that is only counted.
func BenchmarkNote(b *testing.B) {
	for _, c := range []struct {
		name  string
		event func(i int) Event
	}{
		{"equal", func(int) Event { return refused("192.0.2.1", "wrong password") }},
		{"one source", func(i int) Event { return refused("192.0.2.1", fmt.Sprint(i)) }},
		{"many sources", func(i int) Event {
			return refused(fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255), "wrong password")
		}},
	} {
		l := New(nil, nil, Options{})
		b.Run(c.name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				l.Note(b.Context(), c.event(i))
			}
		})
	}
}
