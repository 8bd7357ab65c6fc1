package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/delivery"
	"github.com/alds-dev/alds/internal/lease"
)

// Worker fans changes out and delivers. It is safe for concurrent use; Run must
// be running while the others are called.
type Worker struct {
	*Service
	sender *delivery.Sender
	leases *lease.Table[int64] // of audits

	fan     gate
	cache   cache
	members members
}

// NewWorker returns a worker that owns nothing yet.
func (s *Service) NewWorker(o delivery.Options) *Worker {
	return &Worker{
		Service: s, sender: s.deliveries.NewSender(o),
		leases: lease.New[int64](s.db, "audit", "fan_", "fan_state = 0"),
	}
}

// Run delivers what the other methods find, until ctx ends; then it waits for
// the requests in the air, gives back what it holds, and returns.
func (w *Worker) Run(ctx context.Context) error { return w.sender.Run(ctx) }

// Pull delivers what is due to one subscription.
func (w *Worker) Pull(_ context.Context, subscription string) error {
	w.sender.Wake(subscription)
	return nil
}

// gate lets one caller work while the others leave a note that there is more.
type gate struct {
	mu            sync.Mutex
	working, more bool
}

// enter reports whether the caller is to work.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.working {
		g.more = true
		return false
	}
	g.working = true
	return true
}

// leave reports whether there is more; with stop the note is left to the next.
func (g *gate) leave(stop bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.more && !stop {
		g.more = false
		return true
	}
	g.working, g.more = false, false
	return false
}

// again leaves the note from within.
func (g *gate) again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.more = true
}

// Sweep makes good whatever wake-up was lost: it fans out what waits and wakes
// a lane for every subscription with deliveries that are due.
func (w *Worker) Sweep(ctx context.Context) error {
	if err := w.measure(ctx); err != nil {
		return err
	}
	if err := w.FanOut(ctx); err != nil {
		return err
	}
	return w.sender.Sweep(ctx)
}

// measure keeps the gauges of the backlog.
func (w *Worker) measure(ctx context.Context) error {
	var n, oldest int64
	err := w.db.QueryRow(ctx, "SELECT COUNT(*), COALESCE(MIN(at), 0) FROM audit WHERE fan_state = 0").Scan(&n, &oldest)
	if err != nil {
		return err
	}
	age := 0.0
	if n > 0 {
		age = max(0, time.Since(time.UnixMicro(oldest)).Seconds())
	}
	w.metrics.backlog.Set(float64(n))
	w.metrics.backlogAge.Set(age)
	return nil
}
