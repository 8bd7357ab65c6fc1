package attack

import (
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

// Times of reads are compared only in the long tier.
const (
	// floor is a duration that a read may always take during an attack, even if it is more than three times
	// the time without an attack. A quiet read takes about a millisecond. Attacker, service and database
	// share the cores, so one time slice of the scheduler can be longer than three of these reads. A member
	// who is starved waits for seconds.
	floor = 250 * time.Millisecond

	healthWithin = time.Second
	largest      = 32 << 20 // the largest body of an attack, in bytes
	quietTime    = 1500 * time.Millisecond
	attacks      = 4 // most tries of an attack while reads are slow
)

// times are the durations of the requests of the other clients.
type times struct {
	reads  []time.Duration
	health time.Duration // the slowest request
}

// timeLimits are the durations within which 99 of 100 reads ended without an attack, and must end during
// one.
type timeLimits struct{ quiet, most time.Duration }

// timeQuiet measures reads without an attack. In the short form it does nothing.
func (o *others) timeQuiet() (l timeLimits) {
	if testing.Short() {
		return l
	}
	seen := sights{highest: metrics{}}
	for began, n := time.Now(), 0; time.Since(began) < quietTime; n++ {
		o.look(o.s.t.Context(), &seen, n, attack{})
		time.Sleep(readPause)
	}
	l.quiet = percentile99(seen.times.reads)
	l.most = max(floor, 3*l.quiet)
	l.allowTouch()
	return l
}

// allowTouch raises the limit to the time that the machine currently needs to allocate memory. On virtual
// machines this time changes from minute to minute.
func (l *timeLimits) allowTouch() { l.most = max(l.most, 3*firstTouch()) }

// firstTouch measures how long the machine takes to allocate the memory of a large body for a process. That
// is usually 10 ms. On virtual machines it is up to half a second, in which nothing else runs on that core.
// It returns the slowest of three tries, because other processes allocate memory, too.
func firstTouch() (slowest time.Duration) {
	for range 3 {
		debug.FreeOSMemory()
		began := time.Now()
		for b, i := make([]byte, largest), 0; i < len(b); i += os.Getpagesize() {
			b[i] = 1
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

// inTime fails the test if reads were slow. It first repeats the attack a few times: other work on the
// machine may delay a read once, but a member who is starved is slow each time.
func (o *others) inTime(t *testing.T, a attack, seen sights) {
	t.Helper()
	slow := percentile99(seen.times.reads)
	for n := 1; n < attacks && slow > o.limits.most; n++ {
		t.Logf("99 of 100 reads took up to %s; once more", slow)
		o.s.hangUp()
		o.limits.allowTouch()
		seen = o.bear(t, a)
		slow = percentile99(seen.times.reads)
	}
	t.Logf("99 of 100 of %d reads within %s, in quiet %s, allowed %s; /healthz within %s",
		len(seen.times.reads), slow.Round(time.Millisecond/10), o.limits.quiet.Round(time.Millisecond/10), o.limits.most.Round(time.Millisecond), seen.times.health.Round(time.Millisecond/10))
	if slow > o.limits.most {
		t.Errorf("99 of 100 reads took up to %s, allowed are %s", slow, o.limits.most)
	}
	if seen.times.health > healthWithin {
		t.Errorf("/healthz took %s", seen.times.health)
	}
}

func percentile99(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)*99-1)/100]
}
