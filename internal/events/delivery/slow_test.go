package delivery

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestSlotsAreShared(t *testing.T) {
	tests := []struct{ slots, healthy, slow, failing, queues, share int }{
		{64, 40, 16, 8, 1, 16},
		{64, 40, 16, 8, 3, 5},
		{64, 40, 16, 8, 500, 1},
		{256, 160, 64, 32, 0, 64},
		{8, 5, 2, 1, 2, 1},
		{1, 1, 1, 1, 1, 1},
	}
	for _, tt := range tests {
		s := newSlots(tt.slots)
		if cap(s.healthy) != tt.healthy || cap(s.slow) != tt.slow || cap(s.failing) != tt.failing {
			t.Errorf("of %d slots %d are healthy, %d slow, %d failing", tt.slots, cap(s.healthy), cap(s.slow), cap(s.failing))
		}
		if got := s.share(tt.queues); got != tt.share {
			t.Errorf("of %d slots each of %d slow queues may use %d, want %d", tt.slots, tt.queues, got, tt.share)
		}
		if s.of(true, true) != s.failing || s.of(false, true) != s.slow || s.of(false, false) != s.healthy {
			t.Error("a queue gets slots of another kind")
		}
	}
}

func TestNextWindow(t *testing.T) {
	tests := []struct {
		name    string
		window  int
		outcome Outcome
		most    int
		want    int
	}{
		{"a success opens it", 1, Delivered, 8, 2},
		{"up to the bound", 8, Delivered, 8, 8},
		{"a share that has become smaller", 8, Delivered, 3, 3},
		{"a failure closes it", 8, Retry, 8, 1},
		{"the last failure, too", 8, Exhausted, 8, 1},
	}
	for _, tt := range tests {
		if got := nextWindow(tt.window, tt.outcome, tt.most); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestClaimBelow(t *testing.T) {
	tests := []struct {
		name   string
		window int
		took   time.Duration
		want   int
	}{
		{"before the first answer", 1, 0, claimBelowFirst},
		{"a quick receiver", 8, time.Millisecond, mostClaimBelow},
		{"one that answers at once", 8, time.Nanosecond, mostClaimBelow},
		{"a tenth of a second", 8, 100 * time.Millisecond, 4},
		{"almost a second", 8, 900 * time.Millisecond, 1},
		{"a second", 8, time.Second, 1},
		{"five", 8, 5 * time.Second, 1},
	}
	for _, tt := range tests {
		if got := claimBelow(tt.window, tt.took); got != tt.want {
			t.Errorf("%s: below %d, want %d", tt.name, got, tt.want)
		}
	}
}

// held is a receiver. It answers one request for each value that the test sends to the channel
// release.
type held struct {
	*sink
	inFlight atomic.Int64
	release  chan struct{}
}

func newHeld(t *testing.T) *held {
	h := &held{release: make(chan struct{})}
	h.sink = newSink(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		h.inFlight.Add(1)
		defer h.inFlight.Add(-1)
		select {
		case <-h.release:
		case <-r.Context().Done():
		}
	})
	return h
}

// TestASlowReceiverHasItsShare checks that a slow receiver gets only its share of the slots. It
// must not delay a fast receiver.
func TestASlowReceiverHasItsShare(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.sender(Options{Slots: 16, InFlight: 8, Timeout: time.Minute}) // 4 of the 16 slots are slow slots
		one, other, fast := newHeld(t), newHeld(t), newSink(t, nil)
		n.isSlow = func(res *result) bool { return res.receiver.url != fast.URL }
		inFlight := func(h *held, want int64) {
			t.Helper()
			f.eventually(nil, "requests in flight", func() bool { return h.inFlight.Load() == want })
		}
		slow := f.subscribe(one.URL)
		f.enqueue(n, slow, 40)
		inFlight(one, 1)
		for want := int64(2); want <= 4; want++ {
			one.release <- struct{}{}
			inFlight(one, want)
		}
		one.release <- struct{}{} // the window must not grow beyond the share
		inFlight(one, 4)
		for range 3 {
			f.enqueue(n, f.subscribe(fast.URL), 20)
		}
		f.eventually(nil, "all of the fast ones", func() bool { return fast.requests() == 60 })
		inFlight(one, 4)

		f.enqueue(n, f.subscribe(other.URL), 40)
		inFlight(other, 1)
		other.release <- struct{}{} // now the other receiver is slow, too, and each gets half of the slow slots
		f.eventually(nil, "two slow queues", func() bool {
			n.queues.mu.Lock()
			defer n.queues.mu.Unlock()
			return n.queues.slow == 2
		})
		for range 6 {
			one.release <- struct{}{}
		}
		for range 4 {
			other.release <- struct{}{}
		}
		inFlight(one, 2)
		inFlight(other, 2)
	})
}

// TestWaitingDeliveriesGoTogether checks that deliveries that wait in the database are merged, up
// to maxBatch events.
func TestWaitingDeliveriesGoTogether(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		sub := f.subscribeBatch(s.URL, 40)
		first := f.moment + 1
		f.enqueue(f.idleSender(), sub, 100)
		f.exec("UPDATE webhook_delivery SET attempts = 1, last_status = 500 WHERE first_moment = ?", first+10)
		f.exec("UPDATE webhook_delivery SET created_at = created_at + 1 WHERE first_moment = ?", first+11)
		all, _ := f.claimed(f.idleSender(), sub)
		var sizes []int
		next := first
		for _, d := range all {
			sizes = append(sizes, d.Events)
			if d.First != next || d.Last != d.First+int64(d.Events)-1 {
				t.Errorf("a delivery has the events %d to %d, want the first to be %d", d.First, d.Last, next)
			}
			next = d.Last + 1
			var body struct{ Events []struct{ SequenceID int64 } }
			if err := json.Unmarshal(d.Payload, &body); err != nil || len(body.Events) != d.Events || body.Events[d.Events-1].SequenceID != d.Last {
				t.Errorf("%v: %s", err, d.Payload)
			}
			stored := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE id = ? AND first_moment = ? AND last_moment = ? AND events = ? AND LENGTH(payload) = ?",
				d.ID, d.First, d.Last, d.Events, len(d.Payload))
			if stored != 1 {
				t.Errorf("the delivery of %d to %d is not stored as it is sent", d.First, d.Last)
			}
		}
		// One delivery was sent before, and another was requested again. Neither of them is merged.
		if want := []int{10, 1, 1, 40, 40, 8}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v events, want %v", sizes, want)
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery"); n != len(all) {
			t.Errorf("%d rows for %d deliveries", n, len(all))
		}
	})
}

func TestSharedPayloadsAreMerged(t *testing.T) {
	shared := &Payload{Body: []byte(`{"events":[{` + "\x01" + `"sequenceId":1},{` + "\x01" + `"sequenceId":2}]}`)}
	of := func(d Delivery) *Delivery {
		d.fresh = true
		return &d
	}
	one := merged([]*Delivery{
		of(Delivery{ID: "a", Shared: shared, Head: []byte(`"webhookId":"x",`), Events: 2, First: 1, Last: 2, Committed: 5, since: 5}),
		of(Delivery{ID: "b", Payload: []byte(`{"events":[{"sequenceId":3}]}`), Events: 1, First: 3, Last: 3, Committed: 7, since: 7}),
	})
	if want := `{"events":[{"webhookId":"x","sequenceId":1},{"webhookId":"x","sequenceId":2},{"sequenceId":3}]}`; string(one.body()) != want {
		t.Errorf("%s, want %s", one.body(), want)
	}
	if one.ID != "a" || one.Events != 3 || one.First != 1 || one.Last != 3 || one.Committed != 7 || one.since != 5 {
		t.Errorf("%+v", one)
	}
	if merged([]*Delivery{of(Delivery{Payload: []byte(`{"events":[1]}`)}), of(Delivery{Payload: []byte(`[]`)})}) != nil {
		t.Error("a payload of another form was merged")
	}
	large := strings.Repeat("x", MaxBytes-100)
	got := batches([]*Delivery{
		of(Delivery{Payload: []byte(large), Events: 1}), of(Delivery{Payload: []byte(large), Events: 1}), of(Delivery{Payload: make([]byte, 50), Events: 1}),
	}, MaxEvents)
	if len(got) != 2 || len(got[1]) != 2 {
		t.Errorf("large payloads: %d batches", len(got))
	}
}

// TestSmallDeliveriesAreNotClaimedWhileMoreWaitThanAreSent checks that a fan-out claims no further
// small deliveries while many deliveries to the same receiver wait.
func TestSmallDeliveriesAreNotClaimedWhileMoreWaitThanAreSent(t *testing.T) {
	c := func() *capacity {
		return &capacity{
			queues: 2, bytes: 1 << 20, events: map[string]int{"slow": 3}, sizes: map[string]int{"slow": 30},
			pending: map[string]int{"slow": 1}, below: map[string]int{"slow": 1},
		}
	}
	small, full := &Delivery{Subscription: "slow", Events: 1}, &Delivery{Subscription: "slow", Events: 100}
	unknown := &Delivery{Subscription: "new", Events: 1}
	for _, tt := range []struct {
		name  string
		d     *Delivery
		batch int
		times int
		want  bool
	}{
		{"one that waits", small, 100, 1, false},
		{"one that cannot go with others", small, 1, 1, true},
		{"a full one", full, 100, 1, true},
		{"the first of a queue", unknown, 100, claimBelowFirst, true},
		{"and those behind", unknown, 100, claimBelowFirst + 1, false},
	} {
		c, got := c(), false
		for range tt.times {
			got = c.reserve(tt.d, tt.batch)
		}
		if got != tt.want {
			t.Errorf("%s is claimed: %t", tt.name, got)
		}
	}
}

// TestASubscriptionIsBehind checks that a subscription is "behind" if one of its deliveries could
// have been sent more than a minute ago.
func TestASubscriptionIsBehind(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(f.idleSender(), sub, 3)
		for _, tt := range []struct{ name, change, state string }{
			{"just now", "UPDATE webhook_delivery SET due = due WHERE state = 0", "healthy"},
			{"for two minutes", "UPDATE webhook_delivery SET due = due - 120000000 WHERE state = 0", "behind"},
			{"its breaker is open", "UPDATE webhook_subscription SET breaker_until = 9000000000000000 WHERE enabled = 1", "resting"},
			{"it is paused", "UPDATE webhook_subscription SET paused = 1 WHERE enabled = 1", "paused"},
			{"again", "UPDATE webhook_subscription SET paused = 0, breaker_until = 0 WHERE enabled = 1", "behind"},
			{"nothing is due before its next attempt", "UPDATE webhook_delivery SET due = 9000000000000000 WHERE state = 0", "healthy"},
		} {
			f.exec(tt.change)
			all, err := f.s.Healths(t.Context(), d, []string{sub})
			if err != nil {
				t.Fatal(err)
			}
			if got := all[sub]; got.State != tt.state || (got.DueSince != "") != (tt.state == "behind") || got.Waiting != 3 {
				t.Errorf("%s: %+v, want %s", tt.name, got, tt.state)
			}
		}
	})
}

// TestDueDeliveriesAreMeasured checks that the gauges show only the maxBehind subscriptions that
// are furthest behind.
func TestDueDeliveriesAreMeasured(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		var subs []string
		for range maxBehind + 5 {
			subs = append(subs, f.subscribe("http://127.0.0.1:1"))
			f.enqueue(f.idleSender(), subs[len(subs)-1], 3)
		}
		for i, id := range subs {
			f.exec("UPDATE webhook_delivery SET due = due - ? WHERE subscription_id = ?", int64(i+1)*100_000_000, id)
		}
		// The newest delivery waits for its next attempt, so it is not due now.
		f.exec("UPDATE webhook_delivery SET due = 9000000000000000 WHERE first_moment = ?", f.moment)
		for i, change := range []string{"paused = 1", "failures_in_row = 3", "breaker_until = 9000000000000000", "enabled = 0"} {
			f.exec("UPDATE webhook_subscription SET "+change+" WHERE id = ?", subs[len(subs)-2-i])
		}
		if err := f.s.measureDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ages, counts := testutil.CollectAndCount(f.s.metrics.dueAge), testutil.CollectAndCount(f.s.metrics.dueCount); ages != maxBehind || counts != maxBehind {
			t.Errorf("%d and %d series", ages, counts)
		}
		last := subs[len(subs)-1]
		age, count := testutil.ToFloat64(f.s.metrics.dueAge.WithLabelValues(last, "mine")), testutil.ToFloat64(f.s.metrics.dueCount.WithLabelValues(last, "mine"))
		if least := float64(len(subs)) * 100; age < least || age > least+maxWait.Seconds() || count != 2 {
			t.Errorf("the oldest of %.0f is due for %.0f s, want %.0f and more", count, age, least)
		}
		f.exec("DELETE FROM webhook_delivery")
		if err := f.s.measureDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := testutil.CollectAndCount(f.s.metrics.dueAge); n != 0 {
			t.Errorf("%d series where nothing is due", n)
		}
	})
}
