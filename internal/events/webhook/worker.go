package webhook

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Worker fans out changes and sends deliveries. It is safe for concurrent use;
// Run must be running while its other methods are called.
type Worker struct {
	*Service
	sender *delivery.Sender
	leases *lease.Table[int64] // of audits

	running gate
	cache   cache
	memory  *memory.Budget // for the rows of one chunk

	maxMade, maxEvent int          // as the constants, less in tests
	largest           atomic.Int64 // how many bytes an event may have that is stored whole; 0: not known yet
}

// NewWorker returns a worker that has claimed nothing.
func (s *Service) NewWorker(o delivery.Options) *Worker {
	return &Worker{
		Service: s, sender: s.deliveries.NewSender(o),
		leases:  lease.New[int64](s.db, "audit", "fan_", "fan_state = 0"),
		memory:  memory.NewBudget(2 * 2 * maxEvent), // half of it for each; as read, and as made
		maxMade: maxMade, maxEvent: maxEvent,
	}
}

// Run sends deliveries until ctx ends. Then it waits for the requests in flight
// and releases its other claims.
func (w *Worker) Run(ctx context.Context) error { return w.sender.Run(ctx) }

// Pull sends what is due to one subscription.
func (w *Worker) Pull(_ context.Context, subscription string) error {
	w.sender.Wake(subscription)
	return nil
}

// gate lets one caller run at a time, and makes it run again after calls of
// others.
type gate struct {
	mu            sync.Mutex
	running, more bool
}

// enter reports whether the caller runs.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running {
		g.more = true
		return false
	}
	g.running = true
	return true
}

// leave reports whether the caller has to run again; never with stop.
func (g *gate) leave(stop bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.more && !stop {
		g.more = false
		return true
	}
	g.running, g.more = false, false
	return false
}

// repeat makes the running caller repeat its work.
func (g *gate) repeat() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.more = true
}

// Sweep finds the deliveries of lost wake-ups: it wakes a queue for each subscription
// with due ones. It waits for no fan-out.
func (w *Worker) Sweep(ctx context.Context) error { return w.sender.Sweep(ctx) }
