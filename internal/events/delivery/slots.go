package delivery

import (
	"sync"
	"time"
)

// slowAfter is the maximum time that a request may use a healthy slot. A receiver is slow if its
// last successful request took longer than slowAfter.
const slowAfter = time.Second

// slots limits the number of requests in flight. A quarter of the slots is for slow receivers. An
// eighth is for retries, and for queues whose last attempt failed. So receivers that are slow, hang
// or fail cannot use all slots of the other receivers. There is at least one slot of each kind.
type slots struct{ healthy, slow, failing chan struct{} }

func newSlots(n int) slots {
	slow, failing := max(1, n/4), max(1, n/8)
	return slots{healthy: make(chan struct{}, max(1, n-slow-failing)), slow: make(chan struct{}, slow), failing: make(chan struct{}, failing)}
}

// share returns how many slow slots each slow queue may use. queues is the number of slow queues.
func (all slots) share(queues int) int { return max(1, cap(all.slow)/max(1, queues)) }

// of returns the kind of slot for a request. failing and slow describe the state of its queue.
func (all slots) of(failing, slow bool) chan struct{} {
	switch {
	case failing:
		return all.failing
	case slow:
		return all.slow
	}
	return all.healthy
}

// slot is a slot that one request uses. If the request takes longer than slowAfter, its healthy
// slot is exchanged for a slow slot as soon as a slow slot is free.
type slot struct {
	mu    sync.Mutex
	held  chan struct{} // the kind of the slot; nil after release
	timer *time.Timer
}

// acquire waits for a free slot of one kind. The kind is a result of slots.of.
func (all slots) acquire(kind chan struct{}) *slot {
	s := &slot{held: kind}
	s.held <- struct{}{}
	if kind == all.healthy {
		s.timer = time.AfterFunc(slowAfter, func() { s.move(all.slow) })
	}
	return s
}

// move exchanges the slot for a slot of another kind. If no slot of that kind is free, it tries
// again later.
func (s *slot) move(to chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return
	}
	select {
	case to <- struct{}{}:
		<-s.held
		s.held = to
	default:
		s.timer.Reset(slowAfter / 4)
	}
}

func (s *slot) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	<-s.held
	s.held = nil
}
