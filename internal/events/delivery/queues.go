package delivery

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Limits of the deliveries that a sender has claimed.
const (
	queueEvents = 5000      // number of events in one queue
	queueBytes  = 8 << 20   // size of the payloads in one queue in bytes
	maxHeld     = 256 << 20 // size of the payloads in all queues in bytes
)

// shutdownWait is how long requests in flight may continue after the signal to stop. Then they are
// canceled, and their claims are released.
const shutdownWait = 5 * time.Second

// queues holds a queue for each subscription to which this sender sends. There may be more queues
// than slots, up to maxQueues, because a queue that waits for a slot costs little.
type queues struct {
	s     *Sender
	slots slots

	mu      sync.Mutex
	byID    map[string]*queue    // by id of the subscription
	claimed map[string]*Delivery // by id: the last claim of each delivery, until its result is stored
	bytes   int                  // size of the payloads in claimed
	coming  claiming             // deliveries that are about to be claimed
	slow    int                  // number of queues whose receivers are slow
	closed  bool
	start   func(*queue) // replaced in tests
	running sync.WaitGroup
	ctx     context.Context //nolint:containedctx // canceled for requests that exceed shutdownWait
	cancel  context.CancelFunc
}

func newQueues(s *Sender) *queues {
	ctx, cancel := context.WithCancel(tracing.With(context.Background(), s.o.Tracer))
	qs := &queues{
		s: s, slots: newSlots(s.o.Slots), byID: map[string]*queue{}, claimed: map[string]*Delivery{}, ctx: ctx, cancel: cancel,
	}
	qs.start = func(q *queue) { qs.running.Go(func() { qs.run(q) }) }
	return qs
}

func (qs *queues) maxQueues() int { return 4 * qs.s.o.Slots }

// capacity is how much a fan-out may still claim for this sender. The keys of its maps are ids of
// subscriptions.
type capacity struct {
	queues  int            // number of queues that may still be started
	bytes   int            // bytes of payloads that may still be claimed
	events  map[string]int // number of events in the queue
	sizes   map[string]int // size of the payloads in the queue in bytes
	pending map[string]int // number of pending deliveries in the queue
	below   map[string]int // result of claimBelow for the queue
}

func (qs *queues) capacity() *capacity {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	c := &capacity{queues: qs.maxQueues() - len(qs.byID), bytes: maxHeld - qs.bytes - qs.coming.bytes, events: map[string]int{}, sizes: map[string]int{}, pending: map[string]int{}, below: map[string]int{}}
	if qs.closed {
		c.queues, c.bytes = 0, 0
	}
	for id, q := range qs.byID {
		c.events[id], c.sizes[id] = q.events, q.bytes
		c.pending[id], c.below[id] = len(q.pending), q.claimBelow()
	}
	return c
}

// claiming counts deliveries that are about to be claimed. If a delivery has claims that did not
// end, it may crash its sender. Such a delivery is called a suspect.
type claiming struct {
	bytes    int
	suspects [lease.MaxClaims]int // index: claims that did not end; value: number of suspects; index 0 is not used
}

// mostSuspects returns how many suspects may be claimed at a time. unended is the number of claims
// that did not end; if suspects differ in this number, it is the largest. The larger this number
// is, the fewer suspects are claimed together, so that the delivery that crashes its sender is
// found.
func mostSuspects(unended int) int { return max(1, 64>>(2*unended)) }

// reserve counts a delivery that is about to be claimed. It adds the delivery to the counts in
// qs.coming, and to the counts of the caller, which are in the parameter own. It returns false if
// the queues would hold too many bytes or too many suspects. If the queues hold no bytes, it
// accepts a delivery of any size.
func (qs *queues) reserve(d *dueRow, own *claiming) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	held := qs.bytes + qs.coming.bytes
	if held > 0 && held+d.bytes > maxHeld || d.claims > 0 && !qs.maySuspect(d.claims) {
		return false
	}
	for _, c := range []*claiming{&qs.coming, own} {
		c.bytes += d.bytes
		if d.claims > 0 {
			c.suspects[d.claims]++
		}
	}
	return true
}

// maySuspect reports whether another suspect may be claimed. unended is the number of its claims
// that did not end. The caller must hold qs.mu.
func (qs *queues) maySuspect(unended int) bool {
	suspects := qs.coming.suspects
	for _, d := range qs.claimed {
		if d.unended > 0 {
			suspects[d.unended]++
		}
	}
	n := 0
	for i, count := range suspects {
		if n += count; count > 0 {
			unended = max(unended, i)
		}
	}
	return n < mostSuspects(unended)
}

// unreserve removes the counts of the caller, which are in the parameter own, from qs.coming. It is
// called after the deliveries were claimed, and also if they could not be claimed.
func (qs *queues) unreserve(own *claiming) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.coming.bytes -= own.bytes
	for i, n := range own.suspects {
		qs.coming.suspects[i] -= n
	}
	*own = claiming{}
}

// reserve uses up the capacity for one delivery. It returns false if there is too little capacity.
// It also returns false if the delivery would wait in memory and could still be merged, because
// deliveries are merged only in the database. batch is the maximum number of events in a delivery.
func (c *capacity) reserve(d *Delivery, batch int) bool {
	if d.mayGrow(batch) && c.pending[d.Subscription] >= cmp.Or(c.below[d.Subscription], claimBelowFirst) {
		return false
	}
	events, known := c.events[d.Subscription]
	size := c.sizes[d.Subscription]
	if !known && c.queues <= 0 || c.bytes < d.size() ||
		known && (events+d.Events > queueEvents || size+d.size() > queueBytes) {
		return false
	}
	if !known {
		c.queues--
	}
	c.bytes -= d.size()
	c.events[d.Subscription] = events + d.Events
	c.sizes[d.Subscription] = size + d.size()
	c.pending[d.Subscription]++
	return true
}

// enqueue adds the claimed deliveries of a batch to their queues. If a subscription has due
// deliveries that the batch has not claimed, enqueue wakes its queue.
func (qs *queues) enqueue(b *Batch) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.closed { // the method close releases all claims
		for _, d := range b.claimed {
			qs.claimed[d.ID] = d
		}
		return
	}
	for _, d := range b.claimed {
		qs.add(qs.queue(d.Subscription), d)
	}
	for _, d := range b.claimed {
		q, r := qs.byID[d.Subscription], b.receivers[d.Subscription]
		q.learn(r)
		q.failing = q.failing || r.failures > 0
	}
	for id := range b.left {
		q := qs.byID[id]
		if r := b.receivers[id]; q == nil && r != nil && r.ordered && r.sendable() && len(qs.byID) < qs.maxQueues() {
			q = qs.queue(id) // a fan-out claims no ordered deliveries
		}
		if q != nil {
			q.more, q.recheck = true, true
			q.wake()
		}
	}
}

// moreIsDue makes the queue of a subscription claim more deliveries, even while results are not
// stored yet.
func (qs *queues) moreIsDue(id string) {
	qs.mu.Lock()
	if q := qs.byID[id]; q != nil {
		q.more = true
	}
	qs.mu.Unlock()
	qs.wake(id)
}

func (qs *queues) add(q *queue, d *Delivery) {
	if before := qs.claimed[d.ID]; before != nil { // the earlier claim was lost
		qs.drop(before)
	}
	d.queue = q
	q.pending = append(q.pending, d)
	q.events += d.Events
	q.bytes += d.size()
	qs.bytes += d.size()
	qs.claimed[d.ID] = d
	q.wake()
}

// queue returns the queue of a subscription. If there is no queue, it starts a new one. The caller
// must hold qs.mu.
func (qs *queues) queue(id string) *queue {
	q := qs.byID[id]
	if q == nil {
		q = &queue{id: id, window: 1, signal: make(chan struct{}, 1)}
		qs.byID[id] = q
		qs.s.metrics.queues.Inc()
		qs.start(q)
	}
	return q
}

// wake makes the queue of a subscription claim due deliveries. If there is no queue, it starts a
// new one. It returns false if no further queue may be started.
func (qs *queues) wake(id string) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.byID[id] == nil && (qs.closed || len(qs.byID) >= qs.maxQueues()) {
		return false
	}
	q := qs.queue(id)
	q.recheck = true
	q.wake()
	return true
}

// settled must be called once for each delivery that a queue has popped. It is called when the
// result of the delivery is stored, or when it is clear that the delivery is not sent.
func (qs *queues) settled(d *Delivery) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.forget(d)
	if d.queue == nil || !d.sent {
		return
	}
	d.sent = false
	if d.queue.unsettled--; d.queue.unsettled == 0 {
		d.queue.wake()
	}
}

// forget removes a claim from memory. It does not remove a later claim of the same delivery. The
// caller must hold qs.mu.
func (qs *queues) forget(d *Delivery) {
	if qs.claimed[d.ID] == d {
		qs.bytes -= d.size()
		delete(qs.claimed, d.ID)
	}
}

// drop removes from memory a delivery whose claim is lost, so that the delivery is not sent. If its
// request is in flight, settled is called after the request ends. The caller must hold qs.mu.
func (qs *queues) drop(d *Delivery) {
	qs.forget(d)
	q := d.queue
	if i := slices.Index(q.pending, d); i >= 0 {
		q.pending = slices.Delete(q.pending, i, i+1)
		q.events -= d.Events
		q.bytes -= d.size()
	}
}

// release releases the claims of the pending deliveries in the queue of a subscription, and the
// claims of the deliveries in the list others. If the subscription has no queue, it releases only
// the claims in the list.
func (qs *queues) release(id string, others ...*Delivery) {
	all := others
	qs.mu.Lock()
	if q := qs.byID[id]; q != nil {
		all = append(all, q.pending...)
		q.clear()
	}
	for _, d := range all {
		qs.forget(d)
	}
	qs.mu.Unlock()
	qs.s.release(all)
}

// close stops the queues, waits for the requests in flight, and releases the remaining claims.
func (qs *queues) close() {
	qs.mu.Lock()
	qs.closed = true
	for _, q := range qs.byID {
		q.wake()
	}
	qs.mu.Unlock()
	qs.s.results.stopRetrying()
	timer := time.AfterFunc(min(qs.s.o.Timeout, shutdownWait), qs.cancel)
	qs.running.Wait()
	timer.Stop()
	qs.cancel()
	qs.s.results.flush()
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.s.release(slices.Collect(maps.Values(qs.claimed)))
	clear(qs.claimed)
}

// leasedBefore returns the claimed deliveries whose leases began, or were last renewed, before the
// time at.
func (qs *queues) leasedBefore(at time.Time) (all []*Delivery) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, d := range qs.claimed {
		if d.leased.Before(at) {
			all = append(all, d)
		}
	}
	return all
}

// has reports whether this process has claimed a delivery.
func (qs *queues) has(id string) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.claimed[id] != nil
}

// isClaimed reports whether d is the last claim of its delivery in this process and was not
// dropped. The claim may still be lost in the database.
func (qs *queues) isClaimed(d *Delivery) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.claimed[d.ID] == d
}

// claimedOf returns the number of deliveries of a subscription that this process has claimed.
func (qs *queues) claimedOf(subscription string) int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	n := 0
	for _, d := range qs.claimed {
		if d.Subscription == subscription {
			n++
		}
	}
	return n
}
