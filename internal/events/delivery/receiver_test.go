package delivery

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestADeliveryThatWaitedForASlotGoesToTheReceiverOfNow changes a subscription while a delivery
// waits for a slot. The request must use the subscription as it is when the request begins.
func TestADeliveryThatWaitedForASlotGoesToTheReceiverOfNow(t *testing.T) {
	const drop = "UPDATE webhook_delivery SET state = 3, owner = NULL, lease = 0 WHERE subscription_id = ?"
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		for _, tt := range []struct {
			name    string
			changes []string // SQL statements; their argument is the id of the subscription
			sent    string   // where the request arrives: "here", "there", or "" for no request
			header  string   // Authorization header of the request
			waits   int      // number of deliveries that still wait
		}{
			{"nothing", nil, "here", "Bearer first", 0},
			{"another URL", []string{"UPDATE webhook_subscription SET url = description WHERE id = ?"}, "there", "Bearer first", 0},
			{"no header", []string{"UPDATE webhook_subscription SET authorization = NULL WHERE id = ?"}, "here", "", 0},
			{"paused", []string{"UPDATE webhook_subscription SET paused = 1 WHERE id = ?"}, "", "", 1},
			{"gone", []string{"UPDATE webhook_subscription SET gone = 1 WHERE id = ?"}, "", "", 1},
			{"disabled", []string{"UPDATE webhook_subscription SET enabled = 0 WHERE id = ?", drop}, "", "", 0},
			{"disabled and enabled again", []string{"UPDATE webhook_subscription SET since_generation = 7 WHERE id = ?", drop}, "", "", 0},
			{"deleted", []string{"DELETE FROM webhook_subscription WHERE id = ?", drop}, "", "", 0},
		} {
			t.Run(tt.name, func(t *testing.T) {
				f := newFixture(t, d)
				f.exec("DELETE FROM webhook_delivery")
				var header atomic.Value
				answer := func(_ int, _ http.ResponseWriter, r *http.Request) { header.Store(r.Header.Get("Authorization")) }
				here, there := newSink(t, answer), newSink(t, answer)
				sub := f.subscribe(here.URL)
				f.exec("UPDATE webhook_subscription SET description = ?, authorization = ? WHERE id = ?", there.URL, f.s.box.Seal([]byte("Bearer first")), sub)
				n := f.sender(Options{Slots: 1})
				n.queues.slots.healthy <- struct{}{} // as if another request used the slot
				f.enqueue(n, sub, 1)
				f.eventually(nil, "the delivery waits for a slot", func() bool {
					n.queues.mu.Lock()
					defer n.queues.mu.Unlock()
					return n.queues.byID[sub] != nil && n.queues.byID[sub].inFlight == 1
				})
				<-time.After(2 * freshFor) // after this time the sender must read the subscription again
				for _, change := range tt.changes {
					f.exec(change, sub)
				}
				<-n.queues.slots.healthy
				f.eventually(nil, "the queue ends", func() bool {
					n.queues.mu.Lock()
					defer n.queues.mu.Unlock()
					return len(n.queues.byID) == 0 && len(n.queues.claimed) == 0
				})
				for where, s := range map[string]*sink{"here": here, "there": there} {
					if got, want := s.requests() > 0, tt.sent == where; got != want {
						t.Errorf("a request came %s: %t", where, got)
					}
				}
				if got, _ := header.Load().(string); got != tt.header {
					t.Errorf("the header is %q, want %q", got, tt.header)
				}
				if left := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0 AND owner IS NULL AND subscription_id = ?", sub); left != tt.waits {
					t.Errorf("%d deliveries wait, want %d", left, tt.waits)
				}
			})
		}
	})
}

// TestA410IsOfTheReceiverThatAnswered checks that a 410 is stored with the result. If the
// subscription cannot be disabled at once, Prune disables it later, and nothing is sent until then.
// A 410 of an earlier receiver counts as an ordinary failure.
func TestA410IsOfTheReceiverThatAnswered(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub, moved := f.subscribe("http://127.0.0.1:1"), f.subscribe("http://127.0.0.1:1")
		for _, id := range []string{sub, moved} {
			f.enqueue(n, id, 2)
		}
		f.exec("UPDATE webhook_subscription SET failures_in_row = 1") // after this, each claim has one delivery
		all, r := f.claimed(n, sub)
		theirs, old := f.claimed(n, moved)
		f.exec("UPDATE webhook_subscription SET url = ?, failures_in_row = 0 WHERE id = ?", "http://127.0.0.1:2", moved)
		f.store(n,
			&result{d: all[0], receiver: r, outcome: Gone, status: http.StatusGone},
			&result{d: theirs[0], receiver: old, outcome: Gone, status: http.StatusGone})
		if got := f.count("SELECT COUNT(*) FROM webhook_subscription WHERE gone = 1 AND id = ?", sub); got != 1 {
			t.Error("the 410 is not stored")
		}
		if got := f.count("SELECT COUNT(*) FROM webhook_subscription WHERE gone = 0 AND failures_in_row = 0 AND id = ?", moved); got != 1 {
			t.Error("the 410 of the former URL counts for the new one")
		}
		if got := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0 AND attempts = 1 AND subscription_id = ?", moved); got != 1 {
			t.Error("what the former URL refused is not sent to the new one")
		}
		f.exec("UPDATE webhook_delivery SET due = 1 WHERE state = 0")
		if some, _ := f.claimed(n, sub); len(some) != 0 {
			t.Errorf("%d deliveries are claimed for a receiver that is gone", len(some))
		}
	})
}

// TestTheResultOfALostClaimCountsForNothing checks the result of a lost claim. It must not change
// the delivery or the counters of failures, even if the same sender has claimed the delivery again.
// The queue of that sender must continue.
func TestTheResultOfALostClaimCountsForNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.s.NewSender(Options{AllowPrivate: true})
		n.queues.start = func(*queue) {} // the test calls the steps of the queue
		s := newSink(t, nil)
		sub := f.subscribe(s.URL)
		f.enqueue(n, sub, 1)
		q := n.queues.byID[sub]
		first, _ := n.queues.next(q)
		if first == nil {
			t.Fatal("nothing is sent")
		}
		r := q.receiver
		// Another sender has claimed and released the delivery.
		f.exec("UPDATE webhook_delivery SET owner = NULL, lease = 0 WHERE state = 0")
		if err := n.queues.renew(t.Context(), []*Delivery{first}); err != nil {
			t.Fatal(err)
		}
		n.queues.finish(q, &result{d: first, receiver: r, outcome: Exhausted, status: 500})
		q.failing = false
		if found := n.queues.claim(q); found != 1 || len(q.pending) != 1 {
			t.Fatalf("%d claimed again", found)
		}
		again := q.pending[0]
		n.results.record(context.Background(), []*result{{d: first, receiver: r, outcome: Exhausted, status: 500}})
		if got := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0 AND owner = ?", again.owner); got != 1 {
			t.Error("the late result ended the later claim")
		}
		if got := f.count("SELECT COUNT(*) FROM webhook_subscription WHERE exhausted_in_row = 0 AND failures_in_row = 0"); got != 1 {
			t.Error("the late result counts as a failure")
		}
		if q.unsettled != 0 || !n.queues.isClaimed(again) {
			t.Errorf("%d results are awaited, and the later claim stands: %t", q.unsettled, n.queues.isClaimed(again))
		}
		for range 2 {
			if next, _ := n.queues.next(q); next != nil {
				n.queues.deliver(q, next)
				n.results.record(context.Background(), []*result{<-n.results.results})
			}
		}
		if _, more := n.queues.next(q); more || s.requests() != 1 || len(n.queues.byID) != 0 {
			t.Errorf("%d requests, and the queue goes on: %t", s.requests(), more)
		}
	})
}

// TestPruneLeavesWhatWasAskedForAgain checks a delivery that is requested again after Prune has
// selected it. Prune must not delete it.
func TestPruneLeavesWhatWasAskedForAgain(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(f.idleSender(), sub, 2)
		f.exec("UPDATE webhook_delivery SET state = 1, due = 1, settled_at = 1 WHERE state = 0")
		selected, err := db.Column[string](t.Context(), d, "SELECT id FROM webhook_delivery WHERE state = 1 AND due = 1 ORDER BY id")
		if err != nil || len(selected) != 2 {
			t.Fatal(selected, err)
		}
		if _, err := f.s.Redeliver(t.Context(), sub, Selection{Delivery: selected[0]}); err != nil {
			t.Fatal(err)
		}
		if err := f.s.delete(t.Context(), "webhook_delivery", f.s.isEnded(), selected); err != nil {
			t.Fatal(err)
		}
		if left, err := db.Column[string](t.Context(), d, "SELECT id FROM webhook_delivery"); err != nil || len(left) != 1 || left[0] != selected[0] {
			t.Errorf("%v are left, %v", left, err)
		}
	})
}
