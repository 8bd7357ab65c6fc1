package auth

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// SlowDownError is the answer to a login for which there is no room to wait,
// because too many others with it wait already. It wraps a fault of kind Unproven.
type SlowDownError struct {
	After time.Duration // how long to wait
}

// Error says when to come back.
func (s *SlowDownError) Error() string {
	return fmt.Sprintf("too many failed logins: retry in %d s", int(math.Ceil(s.After.Seconds())))
}

// Unwrap makes a SlowDownError a fault of kind Unproven wherever kinds are read.
func (s *SlowDownError) Unwrap() error { return fault.Unprovenf("%s", s.Error()) }

// pace is how fast wrong passwords of one pair may follow each other.
type pace struct {
	free    int           // wrong ones without any delay
	first   time.Duration // the delay after that; it doubles with each further one
	longest time.Duration // the longest delay, and the longest time that is waited for one's turn
	forget  time.Duration // quiet time after which all is forgiven
	trust   int           // wrong ones after which it no longer counts that the pair succeeded before
}

// pairPace lets through at most 16 guesses in the first minute and one in 8 s
// after that, so 10,800 a day, and 50 at once where the pair succeeded before.
var pairPace = pace{free: 5, first: 250 * time.Millisecond, longest: 8 * time.Second, forget: 15 * time.Minute, trust: 50}

// slowdown counts wrong passwords per pair, which is a member and the network
// of an address, and makes further attempts of the pair wait. An attempt is
// counted before it is verified, so that many at once cannot slip through.
//
// A pair that has succeeded before is verified at once; what waits there is the
// answer to a wrong password.
type slowdown struct {
	pace
	max   int // pairs that are counted
	room  int // attempts that wait at a time
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu      sync.Mutex
	m       map[key]tries // by pair
	waiting int
	proven  *recent[key, proven] // by member
}

// proven are the latest pairs of one member that have succeeded. They are kept
// by member, so that none drives those of others out.
type proven struct {
	pairs [8]key
	next  int
}

// tries are the attempts of a pair that were wrong or are under way.
type tries struct {
	n    int
	last time.Time // when the last one begins, or its answer is given
}

// attempt is one that was counted.
type attempt struct {
	proven bool          // the pair has succeeded before
	wrong  int           // attempts before it
	wait   time.Duration // before it is verified; proven: before it is answered, if it was wrong
}

func newSlowdown(p pace, pairs, room int, now func() time.Time) *slowdown {
	return &slowdown{
		pace: p, max: pairs, room: room, now: now, sleep: sleep,
		proven: newRecent[key, proven](pairs, 0, now), m: make(map[key]tries),
	}
}

// attempt counts an attempt of a pair, of the member with that name, and says
// how long it waits. Errors: *SlowDownError when so many wait before it that it
// would wait too long; such an attempt is not counted.
func (s *slowdown) attempt(name, pair key) (attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	p, _ := s.proven.get(name)
	t, counted := s.m[pair]
	if now.Sub(t.last) > s.forget {
		t = tries{}
	}
	a := attempt{proven: slices.Contains(p.pairs[:], pair) && t.n < s.trust, wrong: t.n}
	if over := t.n + 1 - s.free; over > 0 {
		a.wait = max(0, t.last.Add(s.delay(over)).Sub(now))
	}
	if a.wait > s.longest {
		if !a.proven {
			return attempt{}, &SlowDownError{After: a.wait}
		}
		a.wait = s.longest
	}
	if !counted && len(s.m) >= s.max {
		s.makeRoom(now)
	}
	s.m[pair] = tries{t.n + 1, now.Add(a.wait)}
	return a, nil
}

// delay is the time between an attempt and the one before it.
func (s *slowdown) delay(over int) time.Duration {
	if over > 20 {
		return s.longest
	}
	return min(s.first<<(over-1), s.longest)
}

// hold waits. Errors: *SlowDownError when too many wait, of all pairs together;
// fault.Transient when ctx ends.
func (s *slowdown) hold(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	s.mu.Lock()
	if s.waiting >= s.room {
		s.mu.Unlock()
		return &SlowDownError{After: d}
	}
	s.waiting++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}()
	return s.sleep(ctx, d)
}

// takeBack removes one attempt from a pair: it was not verified.
func (s *slowdown) takeBack(pair key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.m[pair]
	if !ok {
		return
	}
	if t.n--; t.n <= 0 {
		delete(s.m, pair)
		return
	}
	s.m[pair] = t
}

// succeeded forgets the wrong passwords of a pair and remembers that it is one
// with a right one.
func (s *slowdown) succeeded(name, pair key) {
	s.trusts(name, pair)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, pair)
}

// trusts remembers that a pair has succeeded.
func (s *slowdown) trusts(name, pair key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _ := s.proven.get(name)
	if !slices.Contains(p.pairs[:], pair) {
		p.pairs[p.next%len(p.pairs)] = pair
		p.next++
	}
	s.proven.put(name, p, s.now())
}

// makeRoom drops the forgiven among a few pairs, or an arbitrary one.
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

// sleep waits for d. Errors: fault.Transient when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fault.Transientf(ctx.Err(), "the login took too long")
	}
}

// network is the part of an address that one caller has: an IPv4 address, or
// the first 64 bits of an IPv6 address. What is no address is taken as it is.
func network(addr string) string {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return addr
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return addr
	}
	return p.String()
}
