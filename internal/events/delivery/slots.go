package delivery

import (
	"sync"
	"time"
)

// slowAfter is how long a request may hold a healthy slot. A receiver whose last answer
// took longer is slow.
const slowAfter = time.Second

// slots bound the requests in flight. A quarter of them is for slow receivers, and an
// eighth for retries and for queues whose last attempt failed, so that receivers that
// are slow, hang or fail cannot hold the slots of the others. There is at least one of
// each kind.
type slots struct{ healthy, slow, failing chan struct{} }

func newSlots(n int) slots {
	slow, failing := max(1, n/4), max(1, n/8)
	return slots{healthy: make(chan struct{}, max(1, n-slow-failing)), slow: make(chan struct{}, slow), failing: make(chan struct{}, failing)}
}

// share returns how many of the slow slots each of so many slow queues may use.
func (all slots) share(queues int) int { return max(1, cap(all.slow)/max(1, queues)) }

// of returns the slots for a queue in this state.
func (all slots) of(failing, slow bool) chan struct{} {
	switch {
	case failing:
		return all.failing
	case slow:
		return all.slow
	}
	return all.healthy
}

// slot is held by one request. The healthy slot of a slow request becomes a slow one
// as soon as one of those is free.
type slot struct {
	mu    sync.Mutex
	held  chan struct{} // nil after release
	timer *time.Timer
}

// acquire waits for one of the slots that of returned.
func (all slots) acquire(of chan struct{}) *slot {
	s := &slot{held: of}
	s.held <- struct{}{}
	if of == all.healthy {
		s.timer = time.AfterFunc(slowAfter, func() { s.move(all.slow) })
	}
	return s
}

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
