package delivery

import (
	"sync"
	"time"
)

// slowAfter is how long a request may hold a healthy slot.
const slowAfter = time.Second

// slots bound the requests in flight. A quarter of them is for retries and for
// queues whose last attempt failed or was slow, so that receivers that fail or
// hang cannot hold the slots of the others.
type slots struct{ healthy, failing chan struct{} }

func newSlots(n int) slots {
	share := max(1, n/4)
	return slots{healthy: make(chan struct{}, max(1, n-share)), failing: make(chan struct{}, share)}
}

// slot is held by one request. The slot of a slow request becomes a failing one
// as soon as one of those is free.
type slot struct {
	mu    sync.Mutex
	held  chan struct{} // nil after release
	timer *time.Timer
}

// acquire waits for a slot.
func (all slots) acquire(failing bool) *slot {
	s := &slot{held: all.healthy}
	if failing {
		s.held = all.failing
	}
	s.held <- struct{}{}
	if !failing {
		s.timer = time.AfterFunc(slowAfter, func() { s.move(all.failing) })
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
