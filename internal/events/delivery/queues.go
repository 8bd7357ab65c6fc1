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

// Bounds of the deliveries that a sender has claimed.
const (
	queueEvents = 5000      // events in one queue
	queueBytes  = 8 << 20   // bytes of payloads in one queue
	maxHeld     = 256 << 20 // bytes of payloads in all queues
)

// shutdownWait is how long requests in flight may take after the signal to stop. Then they are
// canceled, and their claims are released.
const shutdownWait = 5 * time.Second

// queues holds a queue for each subscription that this sender delivers to. There may be more
// queues than slots, up to maxQueues, since a queue that waits for a slot is cheap.
type queues struct {
	s     *Sender
	slots slots

	mu      sync.Mutex
	byID    map[string]*queue    // by subscription
	claimed map[string]*Delivery // by id: the last claim of each delivery, until its result is stored
	bytes   int                  // of the payloads in claimed
	coming  claiming             // deliveries that are about to be claimed
	slow    int                  // queues whose receivers are slow
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

// capacity is how much a fan-out may still claim for this sender. The keys of its maps are
// subscriptions.
type capacity struct {
	queues  int            // further queues
	bytes   int            // further bytes of payloads
	events  map[string]int // events in the queue
	sizes   map[string]int // bytes of payloads in the queue
	pending map[string]int // pending deliveries of the queue
	below   map[string]int // claimBelow of the queue
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

// claiming counts deliveries that are about to be claimed. A suspect is a delivery with claims
// that did not end: it may crash its sender.
type claiming struct {
	bytes    int
	suspects [lease.MaxClaims]int // by the number of claims that did not end; the entry of 0 is not used
}

// mostSuspects returns how many suspects may be claimed at a time. unended is the largest
// number of claims that did not end for one of these suspects. The larger this number is, the
// fewer suspects are claimed together, so that the delivery that crashes its sender is found.
func mostSuspects(unended int) int { return max(1, 64>>(2*unended)) }

// reserve counts a delivery that is about to be claimed, in qs.coming and in own, the counts of
// the caller. It returns false if the queues would hold too many bytes or too many suspects. It
// accepts a delivery of any size if the queues hold no bytes.
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

// maySuspect reports whether another suspect may be claimed. unended is the number of claims of
// that suspect that did not end. qs.mu is held.
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

// unreserve removes the counts of own from qs.coming. It is called when the deliveries are
// claimed, and when they are not claimed after all.
func (qs *queues) unreserve(own *claiming) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.coming.bytes -= own.bytes
	for i, n := range own.suspects {
		qs.coming.suspects[i] -= n
	}
	*own = claiming{}
}

// reserve uses up the capacity for one delivery. It returns false if there is none. It also
// returns false if the delivery would wait in memory and has room for more events: in the
// database it can be merged with others. batch is the largest number of events in a delivery.
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

// enqueue adds the claimed deliveries of a batch to their queues. It wakes the queues of
// subscriptions with due deliveries that the batch has not claimed.
func (qs *queues) enqueue(b *Batch) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.closed { // close releases what is claimed
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

// moreIsDue makes the queue of a subscription claim more, even while results are not stored.
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

// queue returns the queue of a subscription, and starts a new one if there is none. qs.mu is
// held.
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

// wake makes the queue of a subscription claim due deliveries, and starts it if there is none.
// It returns false if no further queue may start.
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

// settled is called once for each delivery that a queue has popped: when its result is stored,
// or when it is not sent after all.
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

// forget removes a claim from memory. A later claim of the same delivery stays. qs.mu is held.
func (qs *queues) forget(d *Delivery) {
	if qs.claimed[d.ID] == d {
		qs.bytes -= d.size()
		delete(qs.claimed, d.ID)
	}
}

// drop removes a delivery whose claim is lost from memory, so that it is not sent. If its
// request is in flight, settled is called after the request ends. qs.mu is held.
func (qs *queues) drop(d *Delivery) {
	qs.forget(d)
	q := d.queue
	if i := slices.Index(q.pending, d); i >= 0 {
		q.pending = slices.Delete(q.pending, i, i+1)
		q.events -= d.Events
		q.bytes -= d.size()
	}
}

// release releases the claims of the pending deliveries of a queue, and of others. Without a
// queue for id, it releases only others.
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

// leasedBefore returns the claimed deliveries whose leases were claimed or renewed before at.
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
