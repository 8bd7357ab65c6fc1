package delivery

import (
	"sync"
	"time"
)

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
