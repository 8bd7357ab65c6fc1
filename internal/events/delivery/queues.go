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

// Bounds of what a sender holds claimed.
const (
	queueEvents = 5000      // in one queue
	queueBytes  = 8 << 20   // of payloads in one queue
	maxHeld     = 256 << 20 // of payloads in all queues
)

// shutdownWait is how long requests in flight may take after the signal to
// stop. Then they are canceled and their deliveries released.
const shutdownWait = 5 * time.Second

// queues are the subscriptions that this sender delivers to. They are bounded
// by maxQueues, not by the slots: a queue that waits for a slot is cheap.
type queues struct {
	s     *Sender
	slots slots

	mu      sync.Mutex
	byID    map[string]*queue    // by subscription
	claimed map[string]*Delivery // by id, the last claim of each; their results are not stored yet
	bytes   int                  // of their payloads
	coming  claiming             // those that are about to be claimed
	slow    int                  // queues whose receivers are slow
	closed  bool
	start   func(*queue) // replaced in tests
	running sync.WaitGroup
	ctx     context.Context //nolint:containedctx // ends requests that outlive the shutdown
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

// capacity is how much a fan-out may claim for this sender.
type capacity struct {
	queues  int
	bytes   int
	events  map[string]int // by subscription
	sizes   map[string]int
	pending map[string]int // deliveries that wait in memory
	below   map[string]int // how many of those a queue needs
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

// claiming is deliveries that are about to be claimed.
type claiming struct {
	bytes    int
	suspects [lease.MaxClaims]int // by the number of claims that had no end; none of 0
}

// mostSuspects is how many deliveries may be claimed that had so many claims without an
// end, or fewer: the more, the fewer, so that one that ends its senders is found.
func mostSuspects(unended int) int { return max(1, 64>>(2*unended)) }

// reserve counts a delivery that is about to be claimed, also in its claimer's own count;
// false when all queues hold too many bytes, or too many whose claims had no end. Where they
// hold no bytes, a delivery of any size is claimed.
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

// maySuspect reports whether another delivery may be claimed that had so many claims
// without an end. qs.mu is held.
func (qs *queues) maySuspect(unended int) bool {
	suspects := qs.coming.suspects
	for _, d := range qs.claimed {
		if d.unended > 0 {
			suspects[d.unended]++
		}
	}
	n := 0
	for i, of := range suspects {
		if n += of; of > 0 {
			unended = max(unended, i)
		}
	}
	return n < mostSuspects(unended)
}

// unreserve is called when what was reserved is claimed, or is not.
func (qs *queues) unreserve(own *claiming) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.coming.bytes -= own.bytes
	for i, n := range own.suspects {
		qs.coming.suspects[i] -= n
	}
	*own = claiming{}
}

// reserve takes the capacity for one delivery; false when there is none, and for one that
// would wait and can go with others, to a batch of at most so many events.
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

// enqueue queues deliveries that were claimed for this sender, and tells queues
// of what was left for them to claim.
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
			q = qs.queue(id) // nothing of it is claimed by a fan-out
		}
		if q != nil {
			q.more, q.recheck = true, true
			q.wake()
		}
	}
}

// moreIsDue makes the queue of a subscription claim, although it has results that are not
// stored.
func (qs *queues) moreIsDue(id string) {
	qs.mu.Lock()
	if q := qs.byID[id]; q != nil {
		q.more = true
	}
	qs.mu.Unlock()
	qs.wake(id)
}

func (qs *queues) add(q *queue, d *Delivery) {
	if before := qs.claimed[d.ID]; before != nil { // that claim was lost
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

// queue returns the queue of a subscription and starts it if need be; qs.mu is
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

// wake makes the queue of a subscription look for due deliveries; false when no
// further queue may start.
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

// settled is called once with each delivery that was to be sent: when its result is
// stored, or when it is not sent after all.
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

// forget ends a claim in memory; qs.mu is held. A later claim of the same delivery stays.
func (qs *queues) forget(d *Delivery) {
	if qs.claimed[d.ID] == d {
		qs.bytes -= d.size()
		delete(qs.claimed, d.ID)
	}
}

// drop forgets a delivery whose claim is lost, and does not send it; qs.mu is held. One
// that is being sent settles when its request ends.
func (qs *queues) drop(d *Delivery) {
	qs.forget(d)
	q := d.queue
	if i := slices.Index(q.pending, d); i >= 0 {
		q.pending = slices.Delete(q.pending, i, i+1)
		q.events -= d.Events
		q.bytes -= d.size()
	}
}

// release returns the pending deliveries of a queue to the database, and others.
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

// close stops the queues, waits for the requests in flight, and releases what
// is still claimed.
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

// leasedBefore returns the claimed deliveries whose leases run since before at.
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

// isClaimed reports whether a claim still stands, as far as this process knows.
func (qs *queues) isClaimed(d *Delivery) bool {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return qs.claimed[d.ID] == d
}

// claimedOf counts the claimed deliveries of a subscription.
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
