package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestTwoWorkersDeliverEverythingOnce checks that two workers that fan out at the same time send
// each event once. The events may arrive out of order, see interface 6.2.9.
func TestTwoWorkersDeliverEverythingOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		one, two := f.worker(delivery.Options{}), f.worker(delivery.Options{})
		f.subscribe(s.URL, map[string]any{"maxBatch": 3})
		id := f.story("a")
		var want []int64
		for i := range 100 {
			f.rename(id, fmt.Sprint(i))
			want = append(want, f.moment)
			if i%7 == 0 {
				var both sync.WaitGroup
				both.Go(func() { _ = one.FanOut(context.Background()) })
				both.Go(func() { _ = two.FanOut(context.Background()) })
				both.Wait()
			}
		}
		f.fanOut(two)
		f.eventually(one, "settled", f.settledAll)
		if got := s.sequence(); !slices.Equal(got, want) {
			t.Errorf("%d events came: %v", len(got), got)
		}
	})
}

// TestTwoWorkersNeedNoSweep checks that all events arrive when two workers take turns with the
// fan-out and no worker sweeps.
func TestTwoWorkersNeedNoSweep(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		workers := []*Worker{f.worker(delivery.Options{}), f.worker(delivery.Options{})}
		f.subscribe(s.URL, nil)
		id := f.story("a")
		f.fanOut(workers[0])
		for i := range 100 {
			f.rename(id, fmt.Sprint(i))
			f.fanOut(workers[i%2])
			if i%3 == 0 { // waits in every third round; in other rounds, the two workers may overlap
				f.eventually(nil, "the event without a sweep", func() bool { return len(s.sequence()) == i+1 })
			}
		}
		f.eventually(nil, "all events without a sweep", func() bool { return len(s.sequence()) == 100 })
		f.eventually(nil, "settled", f.settledAll)
	})
}

func TestALargeWriteIsFannedOutInChunks(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{map[string]any{"type": "AssetCreated", "from": "Story"}}})
		var edits []edit
		for i := range 1203 {
			edits = append(edits, edit{asset: int64(9000 + i), typ: "Story", set: map[string]any{"name": fmt.Sprint(i)}})
		}
		f.write(20, edits...)
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		if !s.eachOnce(1203) {
			t.Errorf("%d events came, or one came twice", len(s.sequence()))
		}
		if n := s.requests(); n > 15 {
			t.Errorf("%d requests for 1203 events", n)
		}
	})
}

// TestLongTextsAreFannedOutInParts fans out a write that sets long texts, and then a write that
// clears them. In the second write only the previous versions are large. Each of the two writes is
// too large to be read at once.
func TestLongTextsAreFannedOutInParts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{
			map[string]any{"type": "AssetCreated", "from": "Story", "select": []string{"Name"}},
			map[string]any{"type": "AssetChanged", "from": "Story", "select": []string{"Name"}},
		}})
		const stories = 24
		for i, description := range []any{strings.Repeat("x", change.MaxBytes/8), nil} {
			var edits []edit
			for n := range stories {
				edits = append(edits, edit{asset: int64(9000 + n), typ: "Story", set: map[string]any{"name": "s", "description": description}})
			}
			f.write(20, edits...)
			f.fanOut(w)
			f.eventually(w, "settled", f.settledAll)
			if !s.eachOnce((i + 1) * stories) {
				t.Errorf("%d events came, or one came twice", len(s.sequence()))
			}
		}
	})
}

func TestADeliveryIsBounded(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{map[string]any{"type": "AssetCreated", "from": "Story"}}})
		made := int64(9000)
		write := func(n int, description string) {
			edits := make([]edit, 0, n)
			for range n {
				made++
				edits = append(edits, edit{asset: made, typ: "Story", set: map[string]any{"name": "s", "description": description}})
			}
			f.write(20, edits...)
			f.fanOut(w)
			f.eventually(w, "settled", f.settledAll)
		}
		write(101, "short")
		write(3, strings.Repeat("x", 100<<10))
		sizes := map[int]int{} // number of deliveries, by their number of events
		for _, body := range s.bodies {
			sizes[strings.Count(body, `"sequenceId"`)]++
			if len(body) > maxBytes {
				t.Errorf("a body of %d bytes", len(body))
			}
		}
		want := map[int]int{100: 1, 2: 1, 1: 2}
		if !maps.Equal(sizes, want) {
			t.Errorf("deliveries by their number of events: %v, want %v", sizes, want)
		}
	})
}

func TestAFanOutThatLostItsClaimWritesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		slow := f.worker(delivery.Options{})
		f.subscribe(s.URL, nil)
		f.rename(f.story("a"), "b")
		waiting, gen, err := slow.waiting(t.Context())
		if err != nil || len(waiting) != 2 {
			t.Fatal(len(waiting), err)
		}
		audits, err := slow.claim(t.Context(), waiting)
		if err != nil || len(audits) != 2 {
			t.Fatal(len(audits), err)
		}
		f.expire()
		quick := f.worker(delivery.Options{})
		f.fanOut(quick)
		f.eventually(quick, "the event", func() bool { return len(s.sequence()) == 1 })
		if err := slow.fanOut(t.Context(), audits, gen); err != nil {
			t.Fatal(err)
		}
		f.eventually(slow, "settled", f.settledAll)
		if n := s.requests(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestFreshWritesAreFannedOutWithoutAClaim checks that new writes need no claim, but that a claim
// of another worker has priority. Older writes, and writes that were claimed before, must be
// claimed.
func TestFreshWritesAreFannedOutWithoutAClaim(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		one, two := f.worker(delivery.Options{}), f.worker(delivery.Options{})
		f.subscribe(s.URL, nil)
		id := f.story("a")
		for _, c := range []struct {
			name  string
			event bool
			prior func(waiting []*audit)
			ended bool
		}{
			{"fresh", true, func([]*audit) {}, true},
			{"claimed by another", false, func(waiting []*audit) {
				if held, err := two.leases.Claim(t.Context(), d, "another", auditIDs(waiting)); err != nil || len(held) != len(waiting) {
					t.Fatal(len(held), err)
				}
			}, true},
			{"not fresh", false, func(waiting []*audit) { waiting[0].age = fresh.Microseconds() }, false},
			{"tried before", false, func(waiting []*audit) { waiting[0].claims = 1 }, false},
		} {
			f.rename(id, c.name)
			waiting, gen, err := one.waiting(t.Context())
			if err != nil || len(waiting) == 0 {
				t.Fatal(len(waiting), err)
			}
			for _, a := range waiting {
				a.age = 0 // however long the test has taken
			}
			c.prior(waiting)
			before := f.count("SELECT COUNT(*) FROM webhook_delivery")
			if ended, err := one.fanOutFresh(t.Context(), waiting, gen); err != nil || ended != c.ended {
				t.Errorf("%s: ended is %v, err %v", c.name, ended, err)
			}
			if made := f.count("SELECT COUNT(*) FROM webhook_delivery") > before; made != c.event {
				t.Errorf("%s: a delivery was made: %v", c.name, made)
			}
			f.expire()
			f.fanOut(two)
		}
		f.eventually(one, "settled", f.settledAll)
		if got := s.sequence(); len(got) != 4 {
			t.Errorf("%d events came", len(got))
		}
	})
}

func TestAnAuditThatFailsIsSetAside(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{
			map[string]any{"type": "AssetChanged", "from": "Story", "filter": []any{"Reference='r'"}},
		}})
		id := f.story("a")
		f.rename(id, "good")
		f.rename(id, "poison!")
		f.rename(id, "good")
		f.eventually(w, "the good ones", func() bool { return len(s.sequence()) == 2 })
		f.eventually(w, "set aside", func() bool {
			f.expire()
			return f.count("SELECT COUNT(*) FROM audit WHERE fan_state = 2 AND fan_error LIKE '%cannot be evaluated%'") == 1
		})
		f.eventually(w, "settled", f.settledAll)
	})
}

// expire ends the leases of all writes.
func (f *fixture) expire() {
	f.Helper()
	f.exec("UPDATE audit SET fan_lease = 0")
}

// TestWaitingWritesComeOldestFirst uses writes that were never claimed, and writes whose claim has
// expired. Other writes do not wait, or have a valid claim, and must not be in the result.
func TestWaitingWritesComeOldestFirst(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{})
		f.exec("DELETE FROM audit")
		for _, a := range []struct{ id, lease, state int64 }{{9, 0, 0}, {3, 1, 0}, {5, 0, 0}, {4, 1 << 60, 0}, {7, 2, 0}, {6, 0, 1}, {8, 0, 2}} {
			f.exec("INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state, fan_lease) VALUES (?, ?, 20, 1, 1, 1, 0, ?, ?)",
				a.id, a.id, a.state, a.lease)
		}
		waiting, _, err := w.waiting(t.Context())
		if got := auditIDs(waiting); err != nil || !slices.Equal(got, []int64{3, 5, 7, 9}) {
			t.Errorf("%v, err %v", got, err)
		}
	})
}
