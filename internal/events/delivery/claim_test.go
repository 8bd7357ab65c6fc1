package delivery

import (
	"slices"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestAnotherSenderClaimsAfterTheLeaseEnds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		ended := f.idleSender() // this sender does not send or release the deliveries that it claims
		sub := f.subscribe(s.URL)
		f.enqueue(ended, sub, 1)
		if all, _ := f.claimed(ended, sub); len(all) != 1 {
			t.Fatalf("%d claimed", len(all))
		}
		n := f.sender(Options{})
		if err := n.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all, _ := f.claimed(n, sub); len(all) != 0 {
			t.Fatalf("%d deliveries with a lease were claimed", len(all))
		}
		f.expire()
		f.eventually(n, "the delivery", func() bool { return s.requests() == 1 })
	})
}

func TestALateResultChangesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		slow, quick := f.idleSender(), f.idleSender()
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(slow, sub, 1)
		first, r := f.claimed(slow, sub)
		f.expire()
		second, _ := f.claimed(quick, sub)
		if len(first) != 1 || len(second) != 1 {
			t.Fatalf("%d and %d claimed", len(first), len(second))
		}
		f.store(slow, &result{d: first[0], receiver: r, outcome: Exhausted, status: 500})
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0 AND owner = ?", second[0].owner); n != 1 {
			t.Error("the late result changed the delivery")
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_receipt"); n != 1 {
			t.Errorf("%d receipts: the attempt was made and must be seen", n)
		}
	})
}

func TestADeliveryThatEndsItsSendersIsSetAsideAlone(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(f.idleSender(), sub, 40)
		poison := f.moment - 20
		for range 60 { // each sender that claims the poison delivery crashes, so it stores no results
			n := f.idleSender()
			all, r := f.claimed(n, sub)
			if len(all) == 0 {
				break
			}
			if !slices.ContainsFunc(all, func(d *Delivery) bool { return d.First == poison }) {
				var done []*result
				for _, d := range all {
					done = append(done, &result{d: d, receiver: r, outcome: Delivered, status: 200})
				}
				f.store(n, done...)
			}
			f.expire()
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 4"); n != 1 {
			t.Errorf("%d deliveries set aside", n)
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 4 AND first_moment = ?", poison); n != 1 {
			t.Error("the poison was not set aside")
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 1"); n != 39 {
			t.Errorf("%d deliveries delivered", n)
		}
	})
}

func TestClaimedDeliveriesAreRenewed(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(n, sub, 2)
		all, r := f.claimed(n, sub)
		if len(all) != 2 {
			t.Fatalf("%d claimed", len(all))
		}
		q := &queue{id: sub, receiver: r}
		n.queues.byID[sub] = q
		for _, d := range all {
			n.queues.add(q, d)
		}
		f.exec("UPDATE webhook_delivery SET lease = 1, owner = CASE WHEN first_moment = ? THEN 'other' ELSE owner END", f.moment)
		if err := n.queues.renew(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		renewed := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE owner = ? AND lease > ?", all[0].owner, time.Now().UnixMicro())
		if renewed != 1 {
			t.Errorf("%d leases renewed", renewed)
		}
		if len(q.pending) != 1 || len(n.queues.claimed) != 1 {
			t.Errorf("%d queued and %d held after one claim was lost", len(q.pending), len(n.queues.claimed))
		}
	})
}

// TestDeliveriesWithoutAnEndAreClaimedAlone starts with the claims of a sender that has crashed.
// These claims are for deliveries of many subscriptions, and they did not end. The more such claims
// deliveries have, the fewer of them must be claimed together, over all subscriptions. So only the
// delivery that crashes its senders is set aside.
func TestDeliveriesWithoutAnEndAreClaimedAlone(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		var subs []string
		for range 6 {
			subs = append(subs, f.subscribe("http://127.0.0.1:1"))
			f.enqueue(f.idleSender(), subs[len(subs)-1], 1)
		}
		claimedBy := func(unended int) (all []*Delivery) {
			f.exec("UPDATE webhook_delivery SET owner = NULL, lease = 0, claims = ? WHERE state = 0", unended)
			for _, sub := range subs {
				some, _ := f.claimed(n, sub)
				n.Enqueue(&Batch{claimed: some})
				all = append(all, some...)
			}
			return all
		}
		for unended, want := range []int{6, 6, 4, 1, 1} {
			all := claimedBy(unended)
			if len(all) != want {
				t.Errorf("after %d claims without an end %d deliveries were claimed, want %d", unended, len(all), want)
			}
			for _, d := range all {
				n.queues.settled(d)
			}
		}
		claimedBy(3)
		f.enqueue(n, subs[5], 1)
		f.exec("UPDATE webhook_delivery SET owner = NULL, lease = 0, claims = 0 WHERE subscription_id = ?", subs[5])
		if some, _ := f.claimed(n, subs[5]); len(some) != 2 {
			t.Errorf("%d of two others were claimed beside it", len(some))
		}
	})
}

// TestAStoppedSenderSendsNothingThatOthersHave stops a sender for longer than its leases last.
// After that, the sender must send only the deliveries that no other sender has claimed.
func TestAStoppedSenderSendsNothingThatOthersHave(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sink := newSink(t, nil)
		n := f.s.NewSender(Options{AllowPrivate: true})
		n.queues.closed = true // no queue runs; the test calls deliver
		sub := f.subscribe(sink.URL)
		f.enqueue(n, sub, 2)
		all, r := f.claimed(n, sub)
		if len(all) != 2 {
			t.Fatalf("%d claimed", len(all))
		}
		q := &queue{id: sub, receiver: r, window: 1, signal: make(chan struct{}, 1)}
		n.queues.byID[sub] = q
		for _, d := range all {
			n.queues.add(q, d)
		}
		for _, d := range all {
			d.leased = d.leased.Add(-2 * lease.Duration) // the sender was stopped for that long
		}
		f.exec("UPDATE webhook_delivery SET owner = 'other' WHERE first_moment = ?", f.moment)
		for len(q.pending) > 0 {
			n.queues.mu.Lock()
			one := q.pop()
			n.queues.mu.Unlock()
			n.queues.deliver(q, one)
		}
		if got := sink.requests(); got != 1 {
			t.Errorf("%d deliveries were sent, want the one that nobody else has", got)
		}
	})
}
