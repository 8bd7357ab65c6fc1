package webhook

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestA410OfAFormerURLDisablesNothing changes the URL of a subscription during a request. Then the
// old URL answers 410. The subscription must stay enabled, and the new URL must get the event.
func TestA410OfAFormerURLDisablesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		came, answer := make(chan struct{}), make(chan struct{})
		old := newSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			close(came)
			<-answer
			w.WriteHeader(http.StatusGone)
		})
		moved := newSink(t, nil)
		w := f.worker(delivery.Options{})
		sub := f.subscribe(old.URL, nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		<-came
		f.update(sub.ID, map[string]any{"url": moved.URL})
		close(answer)
		f.eventually(w, "the event at the new URL", func() bool { return len(moved.sequence()) == 1 })
		f.eventually(w, "settled", f.settledAll)
		if got := f.read(sub.ID); !got.Enabled || got.DisabledReason != "" {
			t.Errorf("enabled is %t, because %q", got.Enabled, got.DisabledReason)
		}
	})
}

// TestAReceiverThatIsGoneIsDisabledLater checks that Prune disables a subscription that was marked
// as gone but was not disabled at once.
func TestAReceiverThatIsGoneIsDisabledLater(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub, other := f.subscribe("http://a.test", nil), f.subscribe("http://b.test", nil)
		f.exec("UPDATE webhook_subscription SET gone = 1 WHERE id IN (?, ?)", sub.ID, other.ID)
		f.update(other.ID, map[string]any{"url": "http://c.test"})
		if err := f.s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := f.read(sub.ID); got.Enabled || !strings.Contains(got.DisabledReason, "410") {
			t.Errorf("enabled is %t, because %q", got.Enabled, got.DisabledReason)
		}
		if !f.read(other.ID).Enabled {
			t.Error("one that has another URL now was disabled")
		}
		if got := f.update(sub.ID, map[string]any{"enabled": true}); !got.Enabled {
			t.Error("it cannot be enabled")
		}
		if err := f.s.Prune(t.Context()); err != nil || !f.read(sub.ID).Enabled {
			t.Errorf("it was disabled again, %v", err)
		}
	})
}

// TestAnotherURLBeginsWithoutFailures checks that an update resets the counters of failures only if
// the URL is different.
func TestAnotherURLBeginsWithoutFailures(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://a.test", nil)
		f.exec("UPDATE webhook_subscription SET exhausted_in_row = 4, failures_in_row = 9, breaker_state = 1, breaker_until = 9000000000000000 WHERE id = ?", sub.ID)
		for _, tt := range []struct {
			url  string
			want int
		}{{"http://a.test", 9}, {"http://b.test", 0}} {
			f.update(sub.ID, map[string]any{"url": tt.url})
			if got := f.count("SELECT failures_in_row FROM webhook_subscription WHERE id = ?", sub.ID); got != tt.want {
				t.Errorf("%s: %d failures, want %d", tt.url, got, tt.want)
			}
		}
	})
}

// TestEnablingDropsWhatIsBeingFannedOut matches a change for a subscription. Then it disables the
// subscription, and enables it again with other definitions. After that, the deliveries of the
// match are stored. The deliveries for this subscription must be dropped.
func TestEnablingDropsWhatIsBeingFannedOut(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s, other := newSink(t, nil), newSink(t, nil)
		w := f.worker(delivery.Options{})
		sub := f.subscribe(s.URL, nil)
		f.subscribe(other.URL, selecting("Name"))
		f.write(20, long(9000, "a", 10))
		f.rename(9000, "b")
		waiting, gen, err := w.waiting(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		audits, err := w.claim(t.Context(), waiting)
		if err != nil || len(audits) != 2 {
			t.Fatal(len(audits), err)
		}
		idx, err := w.index(t.Context(), &w.cache, gen)
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.loadChunk(t.Context(), idx, audits, audits[0].done, change.ChunkSize)
		if err == nil {
			err = w.match(t.Context(), idx, c)
		}
		if err != nil || len(c.deliveries) != 2 {
			t.Fatal(len(c.deliveries), err)
		}
		f.update(sub.ID, map[string]any{"enabled": false})
		f.update(sub.ID, map[string]any{"enabled": true, "eventTypes": []any{map[string]any{"type": "AssetCreated", "from": "Story"}}})
		if err := w.store(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		f.rename(9000, "c")
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		if got := s.sequence(); len(got) != 0 {
			t.Errorf("%v came, of before it was enabled or by the definitions of before", got)
		}
		if got := other.sequence(); len(got) != 1 {
			t.Errorf("%d events came to the other subscription", len(got))
		}
	})
}

// TestAFanOutThatPanicsIsTheLastOfItself lets a fan-out panic. After the caller has recovered from
// the panic, another fan-out must run.
func TestAFanOutThatPanicsIsTheLastOfItself(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		f.subscribe(s.URL, nil)
		f.rename(f.story("a"), "b")
		w.present = func(context.Context) (*Service, error) { panic("bad model") }
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_ = w.FanOut(t.Context())
		}()
		w.present = nil
		f.eventually(w, "the event", func() bool {
			f.expire()
			return len(s.sequence()) == 1
		})
	})
}

// TestADeletedSubscriptionLeavesNothingThatWaits deletes a subscription while a delivery waits for
// its second attempt. The delivery must be dropped.
func TestADeletedSubscriptionLeavesNothingThatWaits(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{Schedule: []time.Duration{time.Hour}})
		sub := f.subscribe("http://127.0.0.1:1", nil)
		f.rename(f.story("a"), "b")
		f.fanOut(w)
		f.eventually(nil, "a failed attempt", func() bool {
			return f.count("SELECT COUNT(*) FROM webhook_delivery WHERE attempts = 1 AND state = 0") == 1
		})
		if _, err := f.s.Delete(t.Context(), f.who, sub.ID); err != nil {
			t.Fatal(err)
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0"); n != 0 {
			t.Errorf("%d deliveries wait for their next attempt", n)
		}
	})
}

// slowFinder is a fakeFinder. Its method Matching waits until the test closes goOn.
type slowFinder struct {
	fakeFinder
	asked chan struct{} // closed when Matching begins
	goOn  chan struct{} // closed by the test to let Matching continue
}

func (f slowFinder) Matching(ctx context.Context, q db.Querier, who auth.Actor, typ string, filters []string, with map[string][]string, at []oid.OID) ([]bool, error) {
	close(f.asked)
	<-f.goOn
	return f.fakeFinder.Matching(ctx, q, who, typ, filters, with, at)
}

// TestLongMatchingHoldsNoRows uses a match that takes longer than matchWithin. The row of the write
// must not be locked during the whole match.
func TestLongMatchingHoldsNoRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		finder := slowFinder{fakeFinder{}, make(chan struct{}), make(chan struct{})}
		f.s = f.s.With(model, finder)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		id := f.story("a")
		f.exec("UPDATE audit SET fan_state = 1")
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{map[string]any{"type": "AssetChanged", "from": "Story", "filter": []any{"Reference='r'"}}}})
		f.rename(id, "b")
		waiting, gen, err := w.waiting(t.Context())
		if err != nil || len(waiting) != 1 {
			t.Fatal(len(waiting), err)
		}
		waiting[0].age = 0 // the age could exceed fresh on a slow machine
		ended := make(chan error, 1)
		go func() {
			_, err := w.fanOutFresh(context.Background(), waiting, gen)
			ended <- err
		}()
		<-finder.asked
		for until := time.Now().Add(2 * matchWithin); time.Now().Before(until); { // each update waits for the lock of the row
			f.exec("UPDATE audit SET fan_error = fan_error WHERE id = ?", waiting[0].ID)
		}
		close(finder.goOn)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		f.eventually(w, "the event", func() bool { return len(s.sequence()) == 1 })
	})
}
