package auth

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// SlowDownError is the answer to a login tried too soon after wrong ones. It wraps
// a fault of kind Unproven.
type SlowDownError struct {
	After time.Duration // how long to wait
}

// Error says when to come back.
func (s *SlowDownError) Error() string {
	return fmt.Sprintf("too many failed logins: retry in %d s", int(math.Ceil(s.After.Seconds())))
}

// Unwrap makes a SlowDownError a fault of kind Unproven wherever kinds are read.
func (s *SlowDownError) Unwrap() error { return fault.Unprovenf("%s", s.Error()) }

// pace is how fast wrong passwords may follow each other.
type pace struct {
	free    int           // wrong ones without any delay
	first   time.Duration // the delay after that; it doubles with each further one
	longest time.Duration
	forget  time.Duration // quiet time after which all is forgiven
}

var (
	userPace    = pace{free: 5, first: 250 * time.Millisecond, longest: 8 * time.Second, forget: 15 * time.Minute}
	addressPace = pace{free: 50, first: 100 * time.Millisecond, longest: 4 * time.Second, forget: 15 * time.Minute}
)

// slowdown counts wrong passwords per key. An attempt is counted before it is
// verified, so that many at once cannot slip through; success takes it back.
type slowdown struct {
	pace
	max int
	now func() time.Time

	mu sync.Mutex
	m  map[string]tries
}

type tries struct {
	n     int
	last  time.Time
	until time.Time // nothing is tried before
}

func newSlowdown(p pace, limit int, now func() time.Time) *slowdown {
	return &slowdown{pace: p, max: limit, now: now, m: make(map[string]tries)}
}

// attempt counts a try under key. Errors: *SlowDownError when it comes too soon;
// such a try is not counted.
func (s *slowdown) attempt(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	t, known := s.m[key]
	if wait := t.until.Sub(now); known && wait > 0 {
		return &SlowDownError{After: wait}
	}
	if now.Sub(t.last) > s.forget {
		t = tries{}
	}
	t.n, t.last = t.n+1, now
	if over := t.n - s.free; over > 0 {
		t.until = now.Add(s.delay(over))
	}
	if !known && len(s.m) >= s.max {
		s.makeRoom(now)
	}
	s.m[key] = t
	return nil
}

func (s *slowdown) delay(over int) time.Duration {
	if over > 20 {
		return s.longest
	}
	return min(s.first<<(over-1), s.longest)
}

// takeBack removes one try from key: it was no failure.
func (s *slowdown) takeBack(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.m[key]; ok {
		t.n, t.until = t.n-1, time.Time{}
		if t.n <= 0 {
			delete(s.m, key)
			return
		}
		s.m[key] = t
	}
}

// clear forgets everything about key.
func (s *slowdown) clear(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, key)
}

// makeRoom drops the forgiven among a few entries, or an arbitrary one.
func (s *slowdown) makeRoom(now time.Time) {
	seen := 0
	for k, t := range s.m {
		if now.Sub(t.last) > s.forget || len(s.m) >= s.max {
			delete(s.m, k)
		}
		if seen++; seen == 16 {
			return
		}
	}
}
