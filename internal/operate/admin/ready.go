package admin

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Check tests one dependency of the process.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
	// Optional means that the process works without the dependency, perhaps more slowly. A
	// failure is reported, but the process stays ready.
	Optional bool
}

// Times of a check. A dependency that hangs is detected within checkEvery + checkTimeout.
// checkTimeout is long enough for an overloaded database; a stopped database refuses connections at
// once.
const (
	checkEvery   = time.Second
	checkTimeout = 4 * time.Second
	checkKeeps   = checkEvery + checkTimeout + time.Second // how long the last result is valid if the check then hangs
	sayEvery     = time.Minute                             // interval between log lines while a check fails
)

// checked is the result of a check.
type checked struct {
	err error
	at  time.Time // time of the result
}

var (
	errNotChecked = fault.Transientf(nil, "not checked yet")
	errStale      = fault.Transientf(nil, "the check hangs")
)

// watched is a check that runs repeatedly, with its last result.
type watched struct {
	Check

	log  *slog.Logger
	last atomic.Pointer[checked] // nil before the first result

	bad  bool      // true: the last run failed
	said time.Time // when a failure was last logged
}

// run runs the check every checkEvery until ctx ends.
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

// once runs the check once. Only one goroutine may call it.
func (w *watched) once(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := w.Run(within)
	if ctx.Err() != nil { // the process stops, or other checks replaced this check
		return
	}
	if err != nil && errors.Is(within.Err(), context.DeadlineExceeded) {
		err = fault.Transientf(err, "no answer within %s", checkTimeout)
	}
	now := time.Now()
	w.last.Store(&checked{err, now})
	w.say(ctx, err, now)
}

// say logs when the result changes. While the check fails, it logs again every sayEvery.
func (w *watched) say(ctx context.Context, err error, now time.Time) {
	switch {
	case err != nil && (!w.bad || now.Sub(w.said) >= sayEvery):
		w.log.WarnContext(ctx, "check failed", "check", w.Name, "err", err)
		w.said = now
	case err == nil && w.bad:
		w.log.InfoContext(ctx, "check passes again", "check", w.Name)
	}
	w.bad = err != nil
}

// result returns the error of the last run, and how old that result is. The error is errNotChecked
// before the first result, and errStale if the last result is older than checkKeeps.
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

// readiness decides whether the process is ready. It is safe for concurrent use.
type readiness struct {
	log      *slog.Logger
	draining atomic.Bool
	now      atomic.Pointer[state]

	mu    sync.Mutex
	stop  context.CancelFunc // ends the running checks; nil if none run
	ended bool
}

// state has either the reason why the process is not ready, or the checks that decide
// whether it is ready.
type state struct {
	name   string // if reason is not nil: the name of the missing dependency
	reason error  // why the process is not ready; nil: the checks decide
	checks []*watched
}

// notReady replaces the checks with a reason why the process is not ready.
func (r *readiness) notReady(name string, reason error) { r.set(&state{name: name, reason: reason}) }

// watch starts checks. They replace the earlier checks, or the reason that notReady has set.
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

// end ends the checks permanently.
func (r *readiness) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended = true; r.stop != nil {
		r.stop()
	}
}

// report returns the current state. It does not wait for a check.
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

// reason returns the message of a failed check. It omits the cause, which might contain the
// address of a server.
func reason(err error) string {
	if fault.KindOf(err) == fault.Internal {
		return "failed"
	}
	return fault.Public(err)
}
