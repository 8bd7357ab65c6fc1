package delivery

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Bounds of what a worker holds claimed.
const (
	laneEvents = 5000    // events queued in one lane
	laneBytes  = 8 << 20 // payload bytes queued in one lane
	allBytes   = 256 << 20
)

// shutdownWait is how long requests in the air may take after the signal to
// stop; then they are cut off and handed back.
const shutdownWait = 5 * time.Second

// lanes are the subscriptions this sender delivers to. A lane has a queue of
// deliveries claimed for this sender and sends them in order, as many at a time
// as its window says: one at first and after a failure, one more with every
// success, up to InFlight. Sending takes a slot: retries, and lanes whose last
// attempt failed or took long, share a quarter of the slots, so that they can
// never take those of the others.
type lanes struct {
	s       *Sender
	steady  chan struct{} // slots
	failing chan struct{}

	mu      sync.Mutex
	open    map[string]*lane
	held    map[string]*Delivery // by id: claimed for this worker, result not yet written
	bytes   int
	closed  bool
	running sync.WaitGroup
	ctx     context.Context //nolint:containedctx // ends requests that outlive the shutdown
	cancel  context.CancelFunc
}

// lane is one subscription being delivered to. Its fields belong to lanes.mu.
type lane struct {
	id       string
	receiver *receiver
	queue    []*Delivery
	events   int
	bytes    int
	flying   int  // being sent
	window   int  // how many may be
	sent     int  // sent or being sent, result not yet written
	more     bool // the last claim left some for the next
	again    bool // something may have become due since the last claim
	failing  bool
	signal   chan struct{} // holds one: look again
}

func (n *lane) poke() {
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

func newLanes(s *Sender) *lanes {
	ctx, cancel := context.WithCancel(context.Background())
	share := max(1, s.o.Slots/4)
	return &lanes{
		s: s, open: map[string]*lane{}, held: map[string]*Delivery{}, ctx: ctx, cancel: cancel,
		steady: make(chan struct{}, max(1, s.o.Slots-share)), failing: make(chan struct{}, share),
	}
}

// maxLanes bounds the lanes; those that wait for a slot are cheap.
func (l *lanes) maxLanes() int { return 4 * l.s.o.Slots }

// room is how much a fan-out may claim for this worker.
type room struct {
	lanes  int
	bytes  int
	events map[string]int
	sizes  map[string]int
}

func (l *lanes) room() *room {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &room{lanes: l.maxLanes() - len(l.open), bytes: allBytes - l.bytes, events: map[string]int{}, sizes: map[string]int{}}
	if l.closed {
		r.lanes, r.bytes = 0, 0
	}
	for id, n := range l.open {
		r.events[id], r.sizes[id] = n.events, n.bytes
	}
	return r
}

// take reserves room for one delivery.
func (r *room) take(d *Delivery) bool {
	events, known := r.events[d.Subscription]
	size := r.sizes[d.Subscription]
	if !known && r.lanes <= 0 || r.bytes < len(d.Payload) ||
		known && (events+d.Events > laneEvents || size+len(d.Payload) > laneBytes) {
		return false
	}
	if !known {
		r.lanes--
	}
	r.bytes -= len(d.Payload)
	r.events[d.Subscription] = events + d.Events
	r.sizes[d.Subscription] = size + len(d.Payload)
	return true
}

// give queues deliveries that were claimed for this worker.
func (l *lanes) give(all []*Delivery, receivers map[string]*receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // too late: close gives back what is held
		for _, d := range all {
			l.held[d.ID] = d
		}
		return
	}
	for _, d := range all {
		l.push(l.lane(d.Subscription), d)
	}
	for _, d := range all {
		n := l.open[d.Subscription]
		n.receiver = receivers[d.Subscription]
		n.failing = n.failing || n.receiver.failures > 0
	}
}

func (l *lanes) push(n *lane, d *Delivery) {
	n.queue = append(n.queue, d)
	n.events += d.Events
	n.bytes += len(d.Payload)
	l.bytes += len(d.Payload)
	l.held[d.ID] = d
	n.poke()
}

// lane returns the subscription's lane, started if need be; l.mu is held.
func (l *lanes) lane(id string) *lane {
	n := l.open[id]
	if n == nil {
		n = &lane{id: id, window: 1, signal: make(chan struct{}, 1)}
		l.open[id] = n
		l.s.metrics.lanes.Inc()
		l.running.Go(func() { l.run(n) })
	}
	return n
}

// wake makes the subscription's lane look for what is due; it reports false
// when there is no room for another lane.
func (l *lanes) wake(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.open[id]
	if n == nil && (l.closed || len(l.open) >= l.maxLanes()) {
		return false
	}
	n = l.lane(id)
	n.again = true
	n.poke()
	return true
}

// run sends until nothing of the subscription is due.
func (l *lanes) run(n *lane) {
	defer l.s.metrics.lanes.Dec()
	var flying sync.WaitGroup
	defer flying.Wait()
	for {
		d, r, more := l.next(n)
		switch {
		case d != nil:
			flying.Go(func() { l.deliver(n, d, r) })
		case !more:
			return
		}
	}
}

// next takes the next delivery of a lane; without one, and with more false, the
// lane has ended. A lane ends only after a claim that found nothing while no
// result of its own was unwritten: until then other workers leave to it what
// they see waiting.
func (l *lanes) next(n *lane) (d *Delivery, r *receiver, more bool) {
	l.mu.Lock()
	// What follows a failure waits until that is written: it may open the breaker.
	if (n.flying >= n.window || n.failing && n.sent > 0) && !l.closed {
		l.mu.Unlock()
		<-n.signal
		return nil, nil, true
	}
	if len(n.queue) > 0 && !l.closed {
		d = n.queue[0]
		n.queue[0] = nil
		n.queue = n.queue[1:]
		n.events -= d.Events
		n.bytes -= len(d.Payload)
		n.sent++
		n.flying++
		d.sent = true
		r = n.receiver
		l.mu.Unlock()
		return d, r, true
	}
	if n.sent > 0 && !n.more && !l.closed {
		l.mu.Unlock()
		<-n.signal
		return nil, nil, true
	}
	n.again = false
	closed := l.closed
	l.mu.Unlock()

	found := 0
	if !closed {
		found = l.claim(n)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && (found > 0 || n.again || n.sent > 0 || len(n.queue) > 0) {
		return nil, nil, true
	}
	l.back(n)
	delete(l.open, n.id)
	return nil, nil, false
}

// claim fills a lane from the database and returns how many it got.
func (l *lanes) claim(n *lane) int {
	l.mu.Lock()
	failing := n.failing
	l.mu.Unlock()
	all, r, err := l.s.claim(l.ctx, n.id, failing)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			l.s.log.Warn("claim failed", "subscription", n.id, "err", err)
		}
		all, r = nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r != nil {
		n.receiver = r
		n.failing = r.failures > 0
	}
	for _, d := range all {
		l.push(n, d)
	}
	n.more = len(all) > 1
	return len(all)
}

// deliver sends one delivery when there is a slot, and hands the result on.
func (l *lanes) deliver(n *lane, d *Delivery, r *receiver) {
	l.mu.Lock()
	failing := n.failing || d.attempts > 0
	_, still := l.held[d.ID]
	l.mu.Unlock()
	if !still { // the claim was lost while it waited
		l.landed(n, nil)
		return
	}
	seat := l.sit(failing)
	res := l.s.send(l.ctx, d, r)
	seat.leave()
	if l.ctx.Err() != nil && res.status == 0 { // ended by the shutdown, not by the receiver
		l.landed(n, nil)
		return
	}
	l.landed(n, res)
	l.s.record.add(res)
}

// landed lets the lane's next delivery go, more of them or fewer at a time.
func (l *lanes) landed(n *lane, res *result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.flying--
	if res != nil {
		n.failing = res.outcome != Delivered || res.took > slowAfter
		n.window = min(n.window+1, l.s.o.InFlight)
		if n.failing {
			n.window = 1
		}
	}
	n.poke()
}

// settled forgets a delivery whose result is written or whose claim is lost.
func (l *lanes) settled(ids ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if d := l.held[id]; d != nil {
			l.bytes -= len(d.Payload)
			delete(l.held, id)
			if n := l.open[d.Subscription]; n != nil && d.sent {
				if n.sent--; n.sent == 0 {
					n.poke()
				}
			}
		}
	}
}

// slowAfter is how long a request may hold one of the steady slots.
const slowAfter = time.Second

// seat is the slot a request holds. One that takes long moves to the failing
// slots as soon as one of those is free, so that receivers that hang cannot
// take the slots of those that answer.
type seat struct {
	mu    sync.Mutex
	slots chan struct{} // it holds one of these; nil when it has left
	timer *time.Timer
}

// sit takes a slot, waiting for one.
func (l *lanes) sit(failing bool) *seat {
	s := &seat{slots: l.steady}
	if failing {
		s.slots = l.failing
	}
	s.slots <- struct{}{}
	if !failing {
		s.timer = time.AfterFunc(slowAfter, func() { s.move(l.failing) })
	}
	return s
}

func (s *seat) move(to chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots == nil {
		return
	}
	select {
	case to <- struct{}{}:
		<-s.slots
		s.slots = to
	default:
		s.timer.Reset(slowAfter / 4)
	}
}

// leave gives the slot back.
func (s *seat) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	<-s.slots
	s.slots = nil
}
