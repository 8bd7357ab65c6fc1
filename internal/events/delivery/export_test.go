package delivery

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/lease"
)

// Stepped is a sender that starts no goroutines. A test calls its steps one by one, in any order in
// which the goroutines of a process could run these steps. The test also sets the time.
type Stepped struct {
	*Sender
	done []*result // results that are not stored yet
}

// NewStepped returns a sender that has claimed nothing. The parameters now, after and chance
// replace the clock, the timers, and the random numbers from 0 to 1.
func (s *Store) NewStepped(o Options, now func() time.Time, after func(time.Duration, func()), chance func() float64) *Stepped {
	n := &Stepped{Sender: s.NewSender(o)}
	n.now, n.after, n.chance = now, after, chance
	n.queues.start = func(*queue) {}
	n.isSlow = func(*result) bool { return false }
	return n
}

// Next calls queues.next for the queue of a subscription, and returns the delivery to send. The
// result moved is false if there is no queue, or if the queue has to wait.
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

// Begun is a request in flight.
type Begun struct {
	Delivery *Delivery
	Request  *http.Request
	Since    int64 // generation of subscriptions at which the subscription was enabled

	q    *queue
	r    *receiver
	slot *slot
}

// Begin begins the request of a delivery. The result began is false if no slot is free. If the
// delivery must not be sent, req is nil. Then the result next is the delivery that the queue sends
// instead, or nil.
func (s *Stepped) Begin(d *Delivery) (req *Begun, next *Delivery, began bool) {
	q := d.queue
	kind := s.queues.slots.of(q.failing || d.attempts > 0, q.slow)
	if len(kind) == cap(kind) {
		return nil, nil, false
	}
	slot := s.queues.slots.acquire(kind)
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

// End ends a request with an answer. A status of 0 means that there was no answer. End returns the
// delivery that the queue sends next, or nil.
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

// Unstored returns the oldest results that are not stored yet. The parameter most is their maximum
// number.
func (s *Stepped) Unstored(most int) (all []Ended) {
	for _, res := range s.done[:min(most, len(s.done))] {
		all = append(all, Ended{res.d, res.receiver.url, res.receiver.since, res.status, res.outcome})
	}
	return all
}

// Record stores the results that Unstored(most) would return.
func (s *Stepped) Record(most int) {
	n := min(most, len(s.done))
	group := s.done[:n:n]
	s.done = s.done[n:]
	s.results.record(context.Background(), group)
}

// Renew renews the leases that are older than lease.RenewEvery.
func (s *Stepped) Renew() error {
	return s.queues.renew(context.Background(), s.queues.leasedBefore(s.now().Add(-lease.RenewEvery)))
}

// Refresh reads the subscriptions of all queues again.
func (s *Stepped) Refresh() error {
	return s.queues.refresh(context.Background(), slices.Collect(maps.Keys(s.queues.byID)))
}

// Queues returns the number of queues.
func (s *Stepped) Queues() int { return len(s.queues.byID) }

// Held returns how much the sender currently holds. All numbers are 0 after it has sent everything.
func (s *Stepped) Held() map[string]int {
	return map[string]int{
		"claims": len(s.queues.claimed), "bytes": s.queues.bytes, "bytes about to be claimed": s.queues.coming.bytes,
		"slots": len(s.queues.slots.healthy) + len(s.queues.slots.slow) + len(s.queues.slots.failing),
	}
}

// Claim returns the last claim of a delivery if the sender holds it, or nil.
func (s *Stepped) Claim(id string) *Delivery { return s.queues.claimed[id] }

// OwnerOf returns the owner of the claim of a delivery, and when the lease of the claim began.
func OwnerOf(d *Delivery) (owner string, leased time.Time) { return d.owner, d.leased }

// BodyOf returns the body of the request of a delivery.
func BodyOf(d *Delivery) []byte { return d.body() }
