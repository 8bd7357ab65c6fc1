package auth

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// SlowDownError refuses a login because too many wait. It is a fault of kind
// Unproven.
type SlowDownError struct {
	After time.Duration // how long to wait
}

// Error says when to come back.
func (s *SlowDownError) Error() string {
	return fmt.Sprintf("too many failed logins: retry in %d s", int(math.Ceil(s.After.Seconds())))
}

// Unwrap returns the fault.
func (s *SlowDownError) Unwrap() error { return fault.Unprovenf("%s", s.Error()) }

// backoff says how fast wrong passwords of one pair may follow each other.
type backoff struct {
	freeAttempts int           // wrong ones without a delay
	first        time.Duration // the delay after that; it doubles with each further one
	max          time.Duration // the longest delay, and the longest wait for it
	resetAfter   time.Duration // time without an attempt after which the count starts again
	trustLimit   int           // wrong ones after which an earlier success no longer counts
}

// pairBackoff allows at most 16 guesses in the first minute and one in 8 s after
// that, so 10,800 a day, and 50 at once to a pair that has succeeded before.
var pairBackoff = backoff{freeAttempts: 5, first: 250 * time.Millisecond, max: 8 * time.Second, resetAfter: 15 * time.Minute, trustLimit: 50}

// throttle counts wrong passwords per pair, which is a member and the network of
// an address, and delays further attempts of the pair. An attempt is counted
// before it is verified, so that concurrent ones count too.
//
// An attempt of a pair that has succeeded before is verified at once; only the
// answer to a wrong password is delayed.
type throttle struct {
	backoff
	maxPairs   int // pairs in attempts
	maxWaiting int // attempts that wait concurrently
	now        func() time.Time
	sleep      func(context.Context, time.Duration) error

	mu          sync.Mutex
	attempts    map[key]attempts // by pair
	waiting     int
	provenPairs *cache[key, provenPairs] // by member
}

// provenPairs are the latest pairs of one member that have succeeded. They are
// stored per member, so that no member evicts those of others.
type provenPairs struct {
	pairs [8]key
	next  int
}

// attempts are the wrong and unfinished ones of a pair.
type attempts struct {
	n    int
	last time.Time // when the last one begins, or its answer is given
}

// attempt is one that was counted.
type attempt struct {
	proven bool          // the pair has succeeded before
	before int           // attempts before it
	delay  time.Duration // before it is verified; proven: before it is answered, if it was wrong
}

func newThrottle(p backoff, pairs, room int, now func() time.Time) *throttle {
	return &throttle{
		backoff: p, maxPairs: pairs, maxWaiting: room, now: now, sleep: sleep,
		provenPairs: newCache[key, provenPairs](pairs, 0, now), attempts: make(map[key]attempts),
	}
}

// attempt counts an attempt of a pair and returns its delay. Errors:
// *SlowDownError when the delay would be too long; such an attempt is not counted.
func (s *throttle) attempt(name, pair key) (attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	p, _ := s.provenPairs.get(name)
	t, counted := s.attempts[pair]
	if now.Sub(t.last) > s.resetAfter {
		t = attempts{}
	}
	a := attempt{proven: slices.Contains(p.pairs[:], pair) && t.n < s.trustLimit, before: t.n}
	if over := t.n + 1 - s.freeAttempts; over > 0 {
		a.delay = max(0, t.last.Add(s.delay(over)).Sub(now))
	}
	if a.delay > s.max {
		if !a.proven {
			return attempt{}, &SlowDownError{After: a.delay}
		}
		a.delay = s.max
	}
	if !counted && len(s.attempts) >= s.maxPairs {
		s.evict(now)
	}
	s.attempts[pair] = attempts{t.n + 1, now.Add(a.delay)}
	return a, nil
}

// delay is the time between an attempt and the one before it.
func (s *throttle) delay(over int) time.Duration {
	if over > 20 {
		return s.max
	}
	return min(s.first<<(over-1), s.max)
}

// wait waits. Errors: *SlowDownError when too many attempts wait, of all pairs;
// fault.Transient when ctx ends.
func (s *throttle) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	s.mu.Lock()
	if s.waiting >= s.maxWaiting {
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

// uncount removes an attempt of a pair that was not verified.
func (s *throttle) uncount(pair key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.attempts[pair]
	if !ok {
		return
	}
	if t.n--; t.n <= 0 {
		delete(s.attempts, pair)
		return
	}
	s.attempts[pair] = t
}

// succeeded resets the count of a pair, and trusts it.
func (s *throttle) succeeded(name, pair key) {
	s.trust(name, pair)
	s.forget(pair)
}

// forget resets the count of a pair.
func (s *throttle) forget(pair key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.attempts, pair)
}

// trust stores that a pair has succeeded.
func (s *throttle) trust(name, pair key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _ := s.provenPairs.get(name)
	if !slices.Contains(p.pairs[:], pair) {
		p.pairs[p.next%len(p.pairs)] = pair
		p.next++
	}
	s.provenPairs.put(name, p, s.now())
}

// evict deletes the expired entries of a random sample, or an arbitrary one.
func (s *throttle) evict(now time.Time) {
	seen := 0
	for k, t := range s.attempts {
		if now.Sub(t.last) > s.resetAfter || len(s.attempts) >= s.maxPairs {
			delete(s.attempts, k)
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

// network returns the part of an address that belongs to one caller: an IPv4
// address, or the first 64 bits of an IPv6 address. Other text is returned as it is.
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
