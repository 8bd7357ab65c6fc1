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

// SlowDownError refuses a login whose password was not checked: too many logins wait, or too many
// wrong passwords came before. It is a fault of kind Unproven.
type SlowDownError struct {
	After time.Duration // time until the client may try again
}

// Error returns a message with After in seconds.
func (s *SlowDownError) Error() string {
	return fmt.Sprintf("too many logins at once, or too many wrong passwords: retry in %d s", int(math.Ceil(s.After.Seconds())))
}

// Unwrap returns the fault.
func (s *SlowDownError) Unwrap() error { return fault.Unprovenf("%s", s.Error()) }

// backoff is the rule for the delays after wrong passwords of one pair of member and network.
type backoff struct {
	freeAttempts int           // number of wrong passwords without a delay
	first        time.Duration // first delay; it doubles with each further wrong password
	max          time.Duration // longest delay; an attempt that must wait longer is refused
	resetAfter   time.Duration // time without an attempt after which the count starts again
	trustLimit   int           // number of wrong passwords after which a pair of member and network is no longer trusted
}

// pairBackoff allows at most 16 guesses in the first minute, and then one every 8 s, which is
// 10,800 per day. A pair that has succeeded before may guess 50 times at once.
var pairBackoff = backoff{
	freeAttempts: 5, first: 250 * time.Millisecond, max: 8 * time.Second, resetAfter: 15 * time.Minute, trustLimit: 50,
}

// throttle counts wrong passwords per pair, and delays further attempts of the pair. A pair is a
// member and the network of an address. An attempt is counted before it is verified, so that
// concurrent attempts are counted, too.
//
// If a pair has logged in before, its attempts are verified without a delay. Only the answer to a
// wrong password is delayed.
type throttle struct {
	backoff
	maxPairs   int // maximum number of pairs in attempts
	maxWaiting int // maximum number of attempts that wait at the same time
	now        func() time.Time
	sleep      func(context.Context, time.Duration) error

	mu          sync.Mutex
	attempts    map[key]attempts // key: pair
	waiting     int
	provenPairs *cache[key, provenPairs] // key: member
}

// provenPairs has the latest pairs of one member that have logged in. Each member has its own list,
// so that the logins of one member cannot evict the pairs of other members.
type provenPairs struct {
	pairs [8]key
	next  int
}

// attempts counts the attempts of a pair that had a wrong password or are still running.
type attempts struct {
	n    int
	last time.Time // when the delay of the last attempt ends
}

// attempt is a counted attempt to log in.
type attempt struct {
	proven bool          // true: the pair has logged in before
	before int           // number of counted attempts of the pair before this attempt
	delay  time.Duration // wait before the password is verified; if proven: before a wrong password is answered
}

func newThrottle(p backoff, pairs, room int, now func() time.Time) *throttle {
	return &throttle{
		backoff: p, maxPairs: pairs, maxWaiting: room, now: now, sleep: sleep,
		provenPairs: newCache[key, provenPairs](pairs, 0, now), attempts: make(map[key]attempts),
	}
}

// attempt counts an attempt of a pair and returns it with its delay. name is the account.
// Errors: *SlowDownError if the delay is too long. The attempt is not counted then.
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

// delay returns the least time between two attempts of a pair. over is the number of attempts
// after the free attempts.
func (s *throttle) delay(over int) time.Duration {
	if over > 20 {
		return s.max
	}
	return min(s.first<<(over-1), s.max)
}

// wait waits for d. Errors: *SlowDownError if too many attempts of all pairs wait already;
// fault.Transient if ctx ends.
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

// uncount subtracts an attempt from the count of a pair, because its password was not verified.
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

// succeeded resets the count of a pair, and marks the pair as trusted.
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

// trust stores that a pair has logged in.
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

// evict deletes the expired entries of a random sample, or otherwise an arbitrary entry.
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

// sleep waits for d. Errors: fault.Transient if ctx ends.
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

// network returns the part of an address that identifies a caller: an IPv4 address, or the first
// 64 bits of an IPv6 address. It returns any other text unchanged.
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
