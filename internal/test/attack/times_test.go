package attack

import (
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

// In the long tier reads are timed, too. Elsewhere no time decides.
const (
	// floor is within what a read always may be during an attack: attacker,
	// service, database and other tests share the cores with the second member,
	// and three times of a millisecond is less than one turn of the scheduler. Who
	// is starved waits for seconds.
	floor = 250 * time.Millisecond

	healthWithin = time.Second
	largest      = 32 << 20 // of the attacks' bodies, in bytes
	quietTime    = 1500 * time.Millisecond
	attacks      = 4 // at most, while reads are slow
)

// times are what the requests of the others took.
type times struct {
	reads  []time.Duration
	health time.Duration // the slowest
}

// timeLimits are what 99 of 100 reads took in quiet, and may take during an attack.
type timeLimits struct{ quiet, most time.Duration }

// timeQuiet reads in quiet. It does nothing where times do not decide.
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

// allowTouch raises the limit to what the machine takes just now to give memory: on
// virtual machines that differs from minute to minute.
func (l *timeLimits) allowTouch() { l.most = max(l.most, 3*firstTouch()) }

// firstTouch is how long the machine takes to give a process as much memory as a large
// body has: some 10 ms, and on virtual machines half a second, in which nothing else
// runs on that core. It is the slowest of three, since others need memory, too.
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

// inTime fails the test for reads that were slow. Where they were it attacks again:
// other work on the machine delays a read now and then, and who is starved waits each
// time.
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
