package delivery

import (
	"context"
	"errors"
	"sync"
	"time"
)

// queue sends the deliveries of one subscription in order. Its window, the
// number of requests in flight, is one at first and after a failure, and one
// more after each success, up to Options.InFlight and, of a slow receiver, up to
// its share of the slow slots. The fields belong to queues.mu.
type queue struct {
	id        string
	receiver  *receiver   // as it was read last
	reading   sync.Mutex  // held while it is read again
	pending   []*Delivery // claimed, not sent
	events    int         // in pending
	bytes     int         // of payloads in pending
	inFlight  int
	window    int
	unsettled int  // sent or in flight; their results are not stored yet
	more      bool // the last claim or fan-out may have left due deliveries
	recheck   bool // something may have become due since the last claim
	failing   bool
	slow      bool          // its last answer was slow; queues.slow counts these
	took      time.Duration // of recent answers; 0: there is none
	signal    chan struct{} // wakes the queue; holds one signal
}

func (q *queue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// learn takes over what was read of the receiver, unless it was read later before.
func (q *queue) learn(r *receiver) {
	if q.receiver == nil || !q.receiver.at.After(r.at) {
		q.receiver = r
	}
}

func (q *queue) clear() { q.pending, q.events, q.bytes = nil, 0, 0 }

// pop removes the first pending delivery, which is sent next.
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

// mustWait reports whether the queue has to wait for results: its window is
// full, a failure is not stored yet, which may open the circuit breaker, or
// nothing is pending and the next claim would find only its own deliveries.
func (q *queue) mustWait() bool {
	return q.inFlight >= q.window || q.failing && q.unsettled > 0 ||
		len(q.pending) == 0 && q.unsettled > 0 && !q.more
}

// Bounds of how few pending deliveries make a queue claim more while it sends.
const (
	mostClaimBelow  = 64
	claimBelowFirst = 8                     // before the first answer
	claimTime       = 50 * time.Millisecond // of a claim, generously
)

// claimBelow returns how few pending deliveries make a queue claim more: as many as it
// sends during a claim, when so many requests are in flight and each takes so long. What
// is not claimed waits in the database, where it becomes a larger batch.
func claimBelow(window int, took time.Duration) int {
	if took <= 0 {
		return claimBelowFirst
	}
	return max(1, int(min(mostClaimBelow, time.Duration(window)*claimTime/took)))
}

func (q *queue) claimBelow() int { return claimBelow(q.window, q.took) }

// isLow reports whether the queue claims more, although it has something to send.
func (q *queue) isLow() bool { return q.more && !q.failing && len(q.pending) < q.claimBelow() }

// nextWindow returns the window after an attempt: one after a failure, and one more
// after a success, up to most.
func nextWindow(window int, outcome Outcome, most int) int {
	if outcome != Delivered {
		return 1
	}
	return min(window+1, most)
}

// answered changes the state of a queue by the result of an attempt.
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

// setSlow notes whether the receiver of a queue is slow.
func (qs *queues) setSlow(q *queue, slow bool) {
	switch {
	case slow && !q.slow:
		qs.slow++
	case !slow && q.slow:
		qs.slow--
	}
	q.slow = slow
}

// run sends until nothing of the subscription is due.
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

// next returns the next delivery of a queue. Without one it has waited or
// claimed, and more tells whether to call it again. A queue ends only after a
// claim that found nothing while no result was unsettled: other workers leave
// due deliveries to the queue until then.
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

// claim fills a queue from the database and returns how many deliveries it got; more than 0
// also when it has to look again.
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
		return max(1, len(all)) // others are looked at next
	}
	return len(all)
}

// deliver sends one delivery when there is a slot, and records the result. It
// returns what the caller sends next, if anything.
func (qs *queues) deliver(q *queue, d *Delivery) *Delivery {
	qs.mu.Lock()
	of := qs.slots.of(q.failing || d.attempts > 0, q.slow)
	qs.mu.Unlock()
	slot := qs.slots.acquire(of)
	r := qs.toSend(q, d)
	if r == nil {
		slot.release()
		return qs.finish(q, nil)
	}
	res := qs.s.send(qs.ctx, d, r)
	slot.release()
	if qs.ctx.Err() != nil && res.status == 0 { // canceled by the shutdown
		return qs.finish(q, nil)
	}
	defer qs.s.results.add(res)
	return qs.finish(q, res)
}

// toSend returns the receiver of a delivery whose request begins now; nil where it is
// not to be sent, and is given back: others have it, it was dropped, or its
// subscription takes nothing. What the process ends with is given back by close.
func (qs *queues) toSend(q *queue, d *Delivery) *receiver {
	r := qs.current(q)
	switch {
	case qs.ctx.Err() != nil:
		return nil
	case r == nil || !r.sendable():
		qs.release(q.id, d)
	case r.since != d.Since: // it was dropped when the subscription was disabled
		qs.release("", d)
	default:
		if qs.renewEnded(d); qs.isClaimed(d) {
			return r
		}
	}
	qs.settled(d)
	return nil
}

// freshFor is how old the receiver may be that a request is sent to. Without it each
// request of a fast receiver would be a read of its own.
const freshFor = 10 * time.Millisecond

// current returns the receiver of a queue as it is now; nil where its subscription is
// deleted, or the process ends. While the database does not answer it waits: nobody
// knows then who the receiver is.
func (qs *queues) current(q *queue) *receiver {
	q.reading.Lock() // the requests of a queue that begin together read once
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

// finish ends a request, and its queue's window changes by the result; nil when
// nothing was sent. It returns the delivery that takes its place: a goroutine that
// goes on spares the start of another one.
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
