package delivery

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/lease"
)

// Stepped is a sender that does nothing by itself: a test calls its parts one by one, in
// any order in which goroutines of a process may do so, at a time that the test sets.
type Stepped struct {
	*Sender
	done []*result // not stored yet
}

// NewStepped returns a sender that has claimed nothing.
func (s *Store) NewStepped(o Options, now func() time.Time, after func(time.Duration, func()), chance func() float64) *Stepped {
	n := &Stepped{Sender: s.NewSender(o)}
	n.now, n.after, n.chance = now, after, chance
	n.queues.start = func(*queue) {}
	n.isSlow = func(*result) bool { return false }
	return n
}

// Next lets the queue of a subscription take its next step; moved is false where there is
// no queue, or it waits.
func (s *Stepped) Next(subscription string) (d *Delivery, moved bool) {
	s.queues.mu.Lock()
	q := s.queues.byID[subscription]
	waits := q == nil || !q.isLow() && q.mustWait()
	s.queues.mu.Unlock()
	if waits {
		return nil, false
	}
	d, _ = s.queues.next(q)
	return d, true
}

// Begun is a request that was begun.
type Begun struct {
	Delivery *Delivery
	Request  *http.Request
	Since    int64 // generation since which the subscription was enabled

	q    *queue
	r    *receiver
	slot *slot
}

// Begin begins the request of a delivery; began is false where there is no slot. It
// returns no request where the delivery is not to be sent, but what its queue sends next.
func (s *Stepped) Begin(d *Delivery) (req *Begun, next *Delivery, began bool) {
	q := d.queue
	of := s.queues.slots.of(q.failing || d.attempts > 0, q.slow)
	if len(of) == cap(of) {
		return nil, nil, false
	}
	slot := s.queues.slots.acquire(of)
	if slot.timer != nil {
		slot.timer.Stop()
	}
	r := s.queues.toSend(q, d)
	if r == nil {
		slot.release()
		return nil, s.queues.finish(q, nil), true
	}
	made, err := s.request(context.Background(), &result{d: d, receiver: r})
	if err != nil {
		panic(err)
	}
	return &Begun{d, made, r.since, q, r, slot}, nil, true
}

// End ends a request with an answer, status 0 for none. It returns what its queue sends
// next.
func (s *Stepped) End(b *Begun, status int, retryAfter time.Duration) *Delivery {
	res := &result{d: b.Delivery, receiver: b.r, status: status, retryAfter: retryAfter}
	s.judge(res)
	b.slot.release()
	s.done = append(s.done, res)
	return s.queues.finish(b.q, res)
}

// Ended is a result that is not stored yet.
type Ended struct {
	Delivery *Delivery
	URL      string
	Since    int64
	Status   int
	Outcome  Outcome
}

// Unstored returns the next results that Record stores.
func (s *Stepped) Unstored(most int) (all []Ended) {
	for _, res := range s.done[:min(most, len(s.done))] {
		all = append(all, Ended{res.d, res.receiver.url, res.receiver.since, res.status, res.outcome})
	}
	return all
}

// Record stores results, and does what follows from them.
func (s *Stepped) Record(most int) {
	n := min(most, len(s.done))
	group := s.done[:n:n]
	s.done = s.done[n:]
	s.results.record(context.Background(), group)
}

// Renew renews old leases, and Refresh reads the subscriptions of all queues again.
func (s *Stepped) Renew() error {
	return s.queues.renew(context.Background(), s.queues.leasedBefore(s.now().Add(-lease.RenewEvery)))
}

// Refresh gives the queues their subscriptions as they are now.
func (s *Stepped) Refresh() error {
	return s.queues.refresh(context.Background(), slices.Collect(maps.Keys(s.queues.byID)))
}

// Queues returns how many queues there are, and Held what else a sender holds that has
// sent everything, which is nothing.
func (s *Stepped) Queues() int { return len(s.queues.byID) }

// Held counts what a sender holds.
func (s *Stepped) Held() map[string]int {
	return map[string]int{
		"claims": len(s.queues.claimed), "bytes": s.queues.bytes, "bytes about to be claimed": s.queues.coming.bytes,
		"slots": len(s.queues.slots.healthy) + len(s.queues.slots.slow) + len(s.queues.slots.failing),
	}
}

// Claim returns the last claim of a delivery that the sender has; nil for none.
func (s *Stepped) Claim(id string) *Delivery { return s.queues.claimed[id] }

// OwnerOf returns the owner of the claim of a delivery, and since when its lease runs.
func OwnerOf(d *Delivery) (owner string, leased time.Time) { return d.owner, d.leased }

// BodyOf returns what is posted.
func BodyOf(d *Delivery) []byte { return d.body() }
