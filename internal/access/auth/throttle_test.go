package auth

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// pairOf returns a key for an account or a pair in tests without members.
func pairOf(n int) key { return key{byte(n), byte(n >> 8), byte(n >> 16)} }

// Many guesses of a pair come at the same time and without a pause. Only as many are verified as
// pairBackoff allows.
func TestGuessesOfOnePairHaveARate(t *testing.T) {
	for _, c := range []struct {
		within time.Duration
		most   int
	}{{time.Minute, 16}, {time.Hour, 459}} {
		synctest.Test(t, func(t *testing.T) {
			s := newThrottle(pairBackoff, 100, 1000, time.Now)
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			var mu sync.Mutex
			verified, longest := 0, time.Duration(0)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					for ctx.Err() == nil {
						a, err := s.attempt(pairOf(0), pairOf(1))
						if err != nil {
							if err := sleep(ctx, 100*time.Millisecond); err != nil {
								return
							}
							continue
						}
						if s.wait(ctx, a.delay) == nil {
							mu.Lock()
							verified++
							longest = max(longest, a.delay)
							mu.Unlock()
						}
					}
				})
			}
			wg.Wait()
			if verified > c.most || verified < c.most-3 || longest > pairBackoff.max {
				t.Errorf("%d guesses in %v, the longest wait %v; want %d", verified, c.within, longest, c.most)
			}
		})
	}
}

// A few attempts of a pair wait. A further attempt is refused, with the time after which the client
// may try again. An attempt after this time is not delayed.
func TestFewAttemptsOfAPairWait(t *testing.T) {
	c := &clock{t: time.Unix(1e9, 0)}
	s := newThrottle(pairBackoff, 100, 1000, c.now)
	for i := range pairBackoff.freeAttempts {
		if a, err := s.attempt(pairOf(0), pairOf(1)); err != nil || a.delay != 0 || a.before != i {
			t.Errorf("the free attempt %d: %+v, %v", i, a, err)
		}
	}
	for i, wait := range []time.Duration{250, 750, 1750, 3750, 7750} {
		if a, err := s.attempt(pairOf(0), pairOf(1)); err != nil || a.delay != wait*time.Millisecond {
			t.Errorf("attempt %d: %+v, %v", i+6, a, err)
		}
	}
	_, err := s.attempt(pairOf(0), pairOf(1))
	slow, ok := errors.AsType[*SlowDownError](err)
	if !ok || slow.After <= pairBackoff.max || slow.After > 2*pairBackoff.max || fault.KindOf(err) != fault.Unproven {
		t.Fatalf("one more: %v", err)
	}
	if a, err := s.attempt(pairOf(0), pairOf(2)); err != nil || a.delay != 0 {
		t.Errorf("another pair: %+v, %v", a, err)
	}
	c.pass(slow.After)
	if a, err := s.attempt(pairOf(0), pairOf(1)); err != nil || a.delay != 0 {
		t.Errorf("when it was told to come: %+v, %v", a, err)
	}
	c.pass(pairBackoff.resetAfter + time.Second)
	if a, err := s.attempt(pairOf(0), pairOf(1)); err != nil || a.delay != 0 || a.before != 0 {
		t.Errorf("after a quiet time: %+v, %v", a, err)
	}
}

// The attempts of a pair that has succeeded are verified at once, and only answers to wrong
// passwords are delayed. After very many wrong passwords the pair is treated like all other pairs.
func TestAProvenPair(t *testing.T) {
	c := &clock{t: time.Unix(1e9, 0)}
	s := newThrottle(pairBackoff, 100, 1000, c.now)
	s.succeeded(pairOf(0), pairOf(1))
	for i := range pairBackoff.trustLimit {
		a, err := s.attempt(pairOf(0), pairOf(1))
		if err != nil || !a.proven || a.delay > pairBackoff.max {
			t.Fatalf("attempt %d: %+v, %v", i, a, err)
		}
	}
	if _, err := s.attempt(pairOf(0), pairOf(1)); err == nil {
		t.Error("after very many wrong ones it goes on")
	}
	c.pass(2 * pairBackoff.max)
	if a, err := s.attempt(pairOf(0), pairOf(1)); err != nil || a.proven {
		t.Errorf("later, as any other: %+v, %v", a, err)
	}
	s.succeeded(pairOf(0), pairOf(1))
	if a, err := s.attempt(pairOf(0), pairOf(1)); err != nil || !a.proven || a.before != 0 {
		t.Errorf("after it succeeded again: %+v, %v", a, err)
	}
}

// If a member logs in from many networks, the oldest pairs of this member are dropped. The pairs of
// other members are not dropped.
func TestProvenPairsAreStoredPerMember(t *testing.T) {
	c := &clock{t: time.Unix(1e9, 0)}
	s := newThrottle(pairBackoff, 100, 1000, c.now)
	s.succeeded(pairOf(1), pairOf(1))
	for i := range 1000 {
		s.succeeded(pairOf(2), pairOf(1000+i))
		s.trust(pairOf(2), pairOf(1000+i))
	}
	for _, want := range []struct {
		name, pair int
		proven     bool
	}{{1, 1, true}, {2, 1999, true}, {2, 1992, true}, {2, 1991, false}, {1, 1999, false}, {3, 1, false}} {
		if a, err := s.attempt(pairOf(want.name), pairOf(want.pair)); err != nil || a.proven != want.proven {
			t.Errorf("%+v: %+v, %v", want, a, err)
		}
	}
}

// The tables and the number of waiting attempts have a limit for any number of pairs.
func TestPairsAreBounded(t *testing.T) {
	c := &clock{t: time.Unix(1e9, 0)}
	s := newThrottle(pairBackoff, 100, 10, c.now)
	for i := range 10_000 {
		_, _ = s.attempt(pairOf(i), pairOf(i))
		s.succeeded(pairOf(i+1), pairOf(i+1))
		_, _ = s.attempt(pairOf(i), pairOf(i))
	}
	if len(s.attempts) > 100 || len(s.provenPairs.entries) > 100 {
		t.Errorf("%d pairs counted, %d remembered", len(s.attempts), len(s.provenPairs.entries))
	}
	synctest.Test(t, func(t *testing.T) {
		s := newThrottle(pairBackoff, 100, 10, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := s.wait(ctx, time.Hour); fault.KindOf(err) != fault.Transient {
					t.Errorf("a wait that ended with its caller: %v", err)
				}
			})
		}
		synctest.Wait()
		if _, ok := errors.AsType[*SlowDownError](s.wait(ctx, time.Second)); !ok {
			t.Error("there is room for an eleventh")
		}
		cancel()
		wg.Wait()
		if err := s.wait(t.Context(), time.Second); err != nil {
			t.Errorf("after they left: %v", err)
		}
	})
}

func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1":              "192.0.2.1",
		"::ffff:192.0.2.1":       "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":   "2001:db8:1:2::/64",
		"2001:db8:1:2::9%eth0":   "2001:db8:1:2::/64",
		"2001:0DB8:0001:2:0::09": "2001:db8:1:2::/64",
		"2001:db8:1:3::9":        "2001:db8:1:3::/64",
		"":                       "",
		"somewhere":              "somewhere",
	} {
		if got := network(addr); got != want {
			t.Errorf("%q: %q, want %q", addr, got, want)
		}
	}
}

// refusedLogins returns how many wrong passwords from an address are refused without a delay.
func (w *fixture) refusedLogins(names []string, addr string) int {
	w.Helper()
	began := w.clock.now()
	for n := range 100 {
		if _, err := w.s.Basic(w.Context(), names[n%len(names)], fmt.Sprintf("guess %d", n), addr); fault.KindOf(err) != fault.Unproven {
			w.Fatalf("guess %d: %v", n, err)
		}
		if w.clock.now().After(began) {
			return n
		}
	}
	return 100
}

// All spellings of a username are counted together, for a member and for an unknown username.
func TestSpellingsOfANameCountAsOne(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.member(20, 64, 1)
	w.mustSet(20, "éva", "secret")
	for _, names := range [][]string{{"éva"}, {"éva", "ÉVA", "e\u0301va", "Éva", "E\u0301VA"}, {"åsa", "ÅSA", "a\u030asa", "A\u030aSa"}} {
		addr := "192.0.2." + names[len(names)-1]
		if n := w.refusedLogins(names, addr); n != pairBackoff.freeAttempts {
			t.Errorf("%q: slowed after %d wrong ones, want %d", names, n, pairBackoff.freeAttempts)
		}
	}
	if n := w.refusedLogins([]string{"éva"}, "2001:db8::1"); n != pairBackoff.freeAttempts {
		t.Errorf("from another address: slowed after %d", n)
	}
	if n := w.refusedLogins([]string{"ÉVA"}, "2001:db8::2"); n != 0 {
		t.Errorf("from the same network: slowed after %d", n)
	}
}

// After a login from an address, further logins from there are not delayed, not even with a new
// password or after wrong passwords from the same address.
func TestAProvenPairIsVerifiedAtOnce(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.member(20, 64, 1)
	w.mustSet(20, "admin", "old")
	w.wantLogin("for the first time", "admin", "old", 20)
	if n := w.refusedLogins([]string{"admin"}, "192.0.2.1"); n != pairBackoff.freeAttempts {
		t.Errorf("wrong answers are delayed after %d wrong ones", n)
	}
	for i := range 30 {
		w.wantLogin("wrong", "admin", fmt.Sprint("wrong ", i), 0)
	}
	if _, err := w.s.Basic(t.Context(), "admin", "old", "192.0.2.2"); err != nil {
		t.Errorf("remembered, from another address: %v", err)
	}
	w.refusedLogins([]string{"admin"}, "192.0.2.2")
	w.mustSet(20, "", "new")
	w.clock.pass(maxAge)
	before := w.clock.now()
	if _, err := w.s.Basic(t.Context(), "admin", "new", "192.0.2.2"); err != nil {
		t.Errorf("the new password from there: %v", err)
	}
	w.mustSet(20, "", "newest")
	w.wantLogin("the newest password", "admin", "newest", 20)
	if d := w.clock.now().Sub(before); d != 0 {
		t.Errorf("they waited %v", d)
	}
}

// After wrong passwords of a new pair, a right password is delayed, but not refused.
func TestARightPasswordAfterWrongOnesWaits(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.member(20, 64, 1)
	w.mustSet(20, "admin", "secret")
	for i := range 9 {
		w.wantLogin("wrong", "admin", fmt.Sprint("wrong ", i), 0)
	}
	before := w.clock.now()
	w.wantLogin("right", "admin", "secret", 20)
	if d := w.clock.now().Sub(before); d < time.Second || d > pairBackoff.max {
		t.Errorf("it waited %v", d)
	}
	before = w.clock.now()
	w.wantLogin("remembered", "admin", "secret", 20)
	w.wantLogin("wrong, all is forgiven", "admin", "wrong", 0)
	if d := w.clock.now().Sub(before); d != 0 {
		t.Errorf("they waited %v", d)
	}
}

// If the caller of a login goes away, the login leaves its queue and is not counted.
func TestACanceledLoginLeavesNothing(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.member(20, 64, 1)
	w.mustSet(20, "admin", "secret")
	all := []*waiter{{queue: memberQueue, account: pairOf(1)}, {queue: memberQueue, account: pairOf(2)}}
	w.s.slots = newHashSlots(len(all), w.clock.now)
	for _, other := range all {
		if err := w.s.slots.acquire(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	inLine := func() int {
		w.s.slots.mu.Lock()
		defer w.s.slots.mu.Unlock()
		return len(w.s.slots.waiting[memberQueue]) + len(w.s.slots.waiting[unknownQueue])
	}
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 { // equal concurrent logins share one attempt
		wg.Go(func() {
			if _, err := w.s.Basic(ctx, "admin", "secret", "192.0.2.1"); fault.KindOf(err) != fault.Transient {
				t.Errorf("given up: %v", err)
			}
		})
	}
	for inLine() != 2 { // the member and the decoy
		runtime.Gosched()
	}
	leave()
	wg.Wait()
	counted := func() int {
		w.s.memberThrottle.mu.Lock()
		defer w.s.memberThrottle.mu.Unlock()
		return len(w.s.memberThrottle.attempts)
	}
	for inLine()+counted() != 0 {
		runtime.Gosched()
	}
	for _, other := range all {
		w.s.slots.release(other)
	}
	w.wantLogin("later", "admin", "secret", 20)
}
