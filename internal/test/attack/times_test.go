package attack

import (
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

// The limits of the times of reads. Only the long tier compares these times.
const (
	// floor is how long a read may always take during an attack, even if that is more than three times as
	// long as without an attack. Without an attack a read takes about a millisecond. Attacker, service and
	// database share the cores, so one time slice of the scheduler can be longer than three such reads. If
	// an attack keeps a member waiting, the read takes seconds.
	floor = 250 * time.Millisecond

	healthWithin = time.Second
	largest      = 32 << 20 // the largest body of an attack, in bytes
	quietTime    = 1500 * time.Millisecond
	attacks      = 4 // how often an attack is tried while reads are slow
)

// times has the durations of requests that the other clients sent during an attack.
type times struct {
	reads  []time.Duration
	health time.Duration // the slowest request to /healthz
}

// timeLimits has two values of the 99th percentile of read times. quiet was measured without an attack, and
// most is the highest allowed value during an attack.
type timeLimits struct{ quiet, most time.Duration }

// timeQuiet measures reads without an attack. With -short it does nothing.
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

// allowTouch raises the limit l.most to at least three times the time that the machine currently needs to
// allocate the memory of a large body. On virtual machines this time changes from minute to minute.
func (l *timeLimits) allowTouch() { l.most = max(l.most, 3*firstTouch()) }

// firstTouch returns how long the machine takes to allocate the memory of a large body to a process. That
// is usually 10 ms. On virtual machines it is up to half a second, and nothing else runs on that core
// meanwhile. It returns the slowest of three tries, because the time also depends on the memory that other
// processes allocate.
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

// inTime fails the test if reads were slow during the attack. It first repeats the attack a few times.
// Other work on the machine may delay a read once. If the attack delays reads, they are slow each time.
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
