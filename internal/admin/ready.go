package admin

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// Check tests one dependency of the process.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
	// Optional means that the process works without it, if more slowly: its
	// failure is reported and leaves the process ready.
	Optional bool
}

// The clock of a check. What hangs is seen after checkEvery and checkTimeout: an
// overloaded database answers within that, and a dead one refuses at once.
const (
	checkEvery   = time.Second
	checkTimeout = 4 * time.Second
	checkKeeps   = checkEvery + checkTimeout + time.Second // a result, while the check itself hangs
	sayEvery     = time.Minute                             // how often a failure that lasts is logged
)

// checked is what a check found.
type checked struct {
	err error
	at  time.Time // when it was found
}

var (
	errNotChecked = fault.Transientf(nil, "not checked yet")
	errStale      = fault.Transientf(nil, "the check hangs")
)

// watched is a check that runs again and again, and what it found last.
type watched struct {
	Check

	log  *slog.Logger
	last atomic.Pointer[checked] // nil before the first result

	bad  bool      // as it was logged last
	said time.Time // when a failure was
}

// run runs the check until ctx ends.
func (w *watched) run(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		w.once(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// once runs the check once. It is called by one goroutine at a time.
func (w *watched) once(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := w.Run(within)
	if ctx.Err() != nil { // stopped or replaced
		return
	}
	if err != nil && errors.Is(within.Err(), context.DeadlineExceeded) {
		err = fault.Transientf(err, "no answer within %s", checkTimeout)
	}
	now := time.Now()
	w.last.Store(&checked{err, now})
	w.say(ctx, err, now)
}

// say logs what has changed, and a failure that lasts once in a while.
func (w *watched) say(ctx context.Context, err error, now time.Time) {
	switch {
	case err != nil && (!w.bad || now.Sub(w.said) >= sayEvery):
		w.log.WarnContext(ctx, "check failed", "check", w.Name, "err", err)
		w.said = now
	case err == nil && w.bad:
		w.log.InfoContext(ctx, "check is well again", "check", w.Name)
	}
	w.bad = err != nil
}

// result returns what was found last, and how old that is.
func (w *watched) result(now time.Time) (age time.Duration, err error) {
	last := w.last.Load()
	if last == nil {
		return 0, errNotChecked
	}
	if age = now.Sub(last.at); age > checkKeeps {
		return age, errStale
	}
	return age, last.err
}

// readiness is what the process has to say of its readiness. It is safe for
// concurrent use.
type readiness struct {
	log      *slog.Logger
	draining atomic.Bool
	now      atomic.Pointer[state]

	mu    sync.Mutex
	stop  context.CancelFunc // ends the checks that run; nil: none does
	ended bool
}

// state is either a reason not to be ready or the checks that decide.
type state struct {
	name   string // of what is missing
	reason error  // nil: the checks decide
	checks []*watched
}

// notReady sets a reason in place of checks.
func (r *readiness) notReady(name string, reason error) { r.set(&state{name: name, reason: reason}) }

// watch starts checks in place of those before.
func (r *readiness) watch(checks []Check) {
	all := make([]*watched, len(checks))
	for i, c := range checks {
		all[i] = &watched{Check: c, log: r.log}
	}
	r.set(&state{checks: all})
}

func (r *readiness) set(s *state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
	r.stop = nil
	r.now.Store(s)
	if r.ended || len(s.checks) == 0 {
		return
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	for _, w := range s.checks {
		go w.run(ctx)
	}
}

// end ends the checks for good.
func (r *readiness) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended = true; r.stop != nil {
		r.stop()
	}
}

// report tells what is known. It waits for nothing.
func (r *readiness) report() (rep report, ready bool) {
	if r.draining.Load() {
		return report{Status: "stopping"}, false
	}
	s := r.now.Load()
	if s.reason != nil {
		return report{Status: notReady, Checks: map[string]string{s.name: reason(s.reason)}}, false
	}
	rep, ready = report{Status: "ok", Checks: make(map[string]string, len(s.checks))}, true
	now := time.Now()
	for _, w := range s.checks {
		age, err := w.result(now)
		rep.Age = max(rep.Age, age.Round(time.Millisecond).Seconds())
		if err == nil {
			rep.Checks[w.Name] = "ok"
			continue
		}
		rep.Checks[w.Name] = reason(err)
		if !w.Optional {
			rep.Status, ready = notReady, false
		} else if ready {
			rep.Status = "degraded"
		}
	}
	return rep, ready
}

// reason is the message of a failed check, without a cause that could contain an
// address.
func reason(err error) string {
	if fault.KindOf(err) == fault.Internal {
		return "failed"
	}
	return fault.Public(err)
}
