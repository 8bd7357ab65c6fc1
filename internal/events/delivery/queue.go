package delivery

import (
	"context"
	"errors"
	"sync"
	"time"
)

// queue sends the deliveries of one subscription in order. Its window is the maximum number of
// requests in flight. The window is 1 at first and after a failure. It grows by 1 with each
// success, up to Options.InFlight. If the receiver is slow, the maximum is instead the number of
// slow slots that each slow queue may use. queues.mu guards the fields.
type queue struct {
	id        string      // id of the subscription
	receiver  *receiver   // the subscription as it was last read
	reading   sync.Mutex  // held while receiver is read again
	pending   []*Delivery // deliveries that are claimed but not sent
	events    int         // number of events in pending
	bytes     int         // size of the payloads in pending
	inFlight  int         // number of requests in flight
	window    int
	unsettled int           // number of popped deliveries whose results are not stored yet
	more      bool          // true: the last claim or fan-out may have left due deliveries
	recheck   bool          // true: deliveries may have become due since the last claim
	failing   bool          // true: the last attempt failed
	slow      bool          // true: the last accepted request was slow; queues.slow counts slow queues
	took      time.Duration // duration of the last accepted request; 0: no request was accepted yet
	signal    chan struct{} // wakes the queue; holds at most one signal
}

func (q *queue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// learn stores r as the receiver, unless the stored receiver was read later than r.
func (q *queue) learn(r *receiver) {
	if q.receiver == nil || !q.receiver.at.After(r.at) {
		q.receiver = r
	}
}

func (q *queue) clear() { q.pending, q.events, q.bytes = nil, 0, 0 }

// pop removes the first pending delivery and counts it as in flight. The caller sends it.
func (q *queue) pop() *Delivery {
	d := q.pending[0]
	q.pending[0] = nil
	q.pending = q.pending[1:]
	q.events -= d.Events
	q.bytes -= d.size()
	q.unsettled++
	q.inFlight++
	d.sent = true
	return d
}

// mustWait reports whether the queue has to wait for results. It has to wait if its window is full,
// or if a failure is not stored yet, because the failure may open the circuit breaker. It also has
// to wait if nothing is pending and a claim would find only deliveries of this queue.
func (q *queue) mustWait() bool {
	return q.inFlight >= q.window || q.failing && q.unsettled > 0 ||
		len(q.pending) == 0 && q.unsettled > 0 && !q.more
}

// Constants for claimBelow.
const (
	mostClaimBelow  = 64                    // the maximum result
	claimBelowFirst = 8                     // the result before the first accepted request
	claimTime       = 50 * time.Millisecond // an estimate, rather too high, of how long a claim takes
)

// claimBelow returns a number of pending deliveries. A queue with fewer pending deliveries claims
// more while it sends. The number is how many deliveries the queue sends during one claim. window
// is the number of requests in flight, and took is the duration of one request. A queue does not
// claim earlier, because deliveries that wait in the database can be merged into larger batches.
func claimBelow(window int, took time.Duration) int {
	if took <= 0 {
		return claimBelowFirst
	}
	return max(1, int(min(mostClaimBelow, time.Duration(window)*claimTime/took)))
}

func (q *queue) claimBelow() int { return claimBelow(q.window, q.took) }

// isLow reports whether the queue should claim more deliveries before it has sent its pending
// deliveries.
func (q *queue) isLow() bool { return q.more && !q.failing && len(q.pending) < q.claimBelow() }

// nextWindow returns the window after an attempt: 1 after a failure, and window+1 after a success.
// The parameter most is the upper limit.
func nextWindow(window int, outcome Outcome, most int) int {
	if outcome != Delivered {
		return 1
	}
	return min(window+1, most)
}

// answered updates a queue with the result of an attempt. The caller must hold qs.mu.
func (qs *queues) answered(q *queue, res *result) {
	q.failing = res.outcome != Delivered
	if !q.failing {
		qs.setSlow(q, qs.s.isSlow(res))
		q.took = res.duration
	}
	most := qs.s.o.InFlight
	if q.slow {
		most = min(most, qs.slots.share(qs.slow))
	}
	q.window = nextWindow(q.window, res.outcome, most)
}

// setSlow sets q.slow and updates the number of slow queues. The caller must hold qs.mu.
func (qs *queues) setSlow(q *queue, slow bool) {
	switch {
	case slow && !q.slow:
		qs.slow++
	case !slow && q.slow:
		qs.slow--
	}
	q.slow = slow
}

// run sends deliveries of the queue until no delivery of its subscription is due, or until qs is
// closed.
func (qs *queues) run(q *queue) {
	defer qs.s.metrics.queues.Dec()
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for {
		d, more := qs.next(q)
		switch {
		case d != nil:
			inFlight.Go(func() {
				for d != nil {
					d = qs.deliver(q, d)
				}
			})
		case !more:
			return
		}
	}
}

// next returns the next delivery that the queue has to send. If d is nil, next has waited or has
// claimed deliveries, and more reports whether the caller must call next again. A queue ends only
// if a claim has found nothing and all results are stored. Until then, other workers do not claim
// the due deliveries of the subscription.
func (qs *queues) next(q *queue) (d *Delivery, more bool) {
	qs.mu.Lock()
	closed := qs.closed
	switch {
	case closed || q.isLow():
	case q.mustWait():
		qs.mu.Unlock()
		<-q.signal
		return nil, true
	case len(q.pending) > 0:
		defer qs.mu.Unlock()
		return q.pop(), true
	}
	q.recheck = false
	idle := q.unsettled == 0
	qs.mu.Unlock()

	found := 0
	if !closed {
		found = qs.claim(q)
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if !qs.closed && (found > 0 || q.recheck || !idle || q.unsettled > 0 || len(q.pending) > 0) {
		return nil, true
	}
	q.clear()
	qs.setSlow(q, false)
	delete(qs.byID, q.id)
	return nil, false
}

// claim claims deliveries, adds them to the queue, and returns how many it has claimed. It returns
// 1 instead of 0 if the queue has to claim again.
func (qs *queues) claim(q *queue) int {
	qs.mu.Lock()
	failing := q.failing
	qs.mu.Unlock()
	all, r, more, err := qs.s.claim(qs.ctx, q.id, failing)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			qs.s.log.Warn("claim failed", "subscription", q.id, "err", err)
		}
		all, r, more = nil, nil, false
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if r != nil {
		q.learn(r)
		q.failing = r.failures > 0 || q.failing && q.unsettled > 0 // a failure may not be stored yet
	}
	for _, d := range all {
		qs.add(q, d)
	}
	if q.more = more; more {
		return max(1, len(all)) // the next claim reads the other deliveries
	}
	return len(all)
}

// deliver waits for a slot, sends one delivery, and passes the result to the recorder. It
// returns the delivery that the caller sends next, or nil.
func (qs *queues) deliver(q *queue, d *Delivery) *Delivery {
	qs.mu.Lock()
	kind := qs.slots.of(q.failing || d.attempts > 0, q.slow)
	qs.mu.Unlock()
	slot := qs.slots.acquire(kind)
	r := qs.toSend(q, d)
	if r == nil {
		slot.release()
		return qs.finish(q, nil)
	}
	res := qs.s.send(qs.ctx, d, r)
	slot.release()
	if qs.ctx.Err() != nil && res.status == 0 { // canceled because the process stops
		return qs.finish(q, nil)
	}
	defer qs.s.results.add(res)
	return qs.finish(q, res)
}

// toSend returns the receiver for a request that begins now. It returns nil if the delivery must
// not be sent. That is the case if its claim was lost, if it was dropped, if its receiver is not
// sendable, or if the process stops. toSend releases a claim that was not lost. If the process
// stops, the method close releases the claim instead.
func (qs *queues) toSend(q *queue, d *Delivery) *receiver {
	r := qs.current(q)
	switch {
	case qs.ctx.Err() != nil:
		return nil
	case r == nil || !r.sendable():
		qs.release(q.id, d)
	case r.since != d.Since: // the delivery was dropped when its subscription was disabled
		qs.release("", d)
	default:
		if qs.renewEnded(d); qs.isClaimed(d) {
			return r
		}
	}
	qs.settled(d)
	return nil
}

// freshFor is the maximum age of the receiver data that a request uses. With a fast receiver, it
// saves one read of the database per request.
const freshFor = 10 * time.Millisecond

// current returns the receiver of a queue; the data is at most freshFor old. It returns nil if the
// subscription is deleted or the process stops. While the database does not answer, current waits,
// because the subscription may have changed.
func (qs *queues) current(q *queue) *receiver {
	q.reading.Lock() // requests that begin at the same time share one read
	defer q.reading.Unlock()
	qs.mu.Lock()
	r := q.receiver
	qs.mu.Unlock()
	if qs.s.now().Sub(r.at) < freshFor {
		return r
	}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		found, err := qs.read(qs.ctx, []string{q.id})
		if err == nil {
			return found[q.id]
		}
		if qs.ctx.Err() != nil {
			return nil
		}
		qs.s.log.Warn("subscriptions not read", "count", 1, "err", err)
		select {
		case <-qs.ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// finish ends a request and updates its queue with the result. If res is nil, nothing was sent.
// finish returns the delivery that the calling goroutine sends next, or nil. To send it in the same
// goroutine costs less than a new goroutine for each delivery.
func (qs *queues) finish(q *queue, res *result) *Delivery {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	q.inFlight--
	if res != nil {
		qs.answered(q, res)
	}
	if qs.closed || q.mustWait() || len(q.pending) == 0 {
		q.wake()
		return nil
	}
	d := q.pop()
	if q.isLow() || q.inFlight < q.window && len(q.pending) > 0 {
		q.wake()
	}
	return d
}
