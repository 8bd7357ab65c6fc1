package webhook

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Worker fans out changes and sends deliveries. It is safe for concurrent use. Run must be running
// when the other methods are called.
type Worker struct {
	*Service
	sender *delivery.Sender
	leases *lease.Table[int64] // leases of audits

	running gate
	cache   cache
	memory  *memory.Budget // memory for the rows and events of one chunk

	maxMade, maxEvent int          // the constants of the same names; smaller in tests
	largest           atomic.Int64 // maximum size in bytes of an event that is stored whole; 0: not read yet
}

// NewWorker returns a worker that has claimed nothing.
func (s *Service) NewWorker(o delivery.Options) *Worker {
	return &Worker{
		Service: s, sender: s.deliveries.NewSender(o),
		leases:  lease.New[int64](s.db, "audit", "fan_", "fan_state = 0"),
		memory:  memory.NewBudget(2 * 2 * maxEvent), // a chunk may use half: the largest event, as read and as created
		maxMade: maxMade, maxEvent: maxEvent,
	}
}

// Run sends deliveries until ctx ends. Then it waits for the requests in flight, and releases the
// remaining claims.
func (w *Worker) Run(ctx context.Context) error { return w.sender.Run(ctx) }

// Pull starts to send the due deliveries of one subscription. It does not wait until they are sent.
func (w *Worker) Pull(_ context.Context, subscription string) error {
	w.sender.Wake(subscription)
	return nil
}

// gate lets only one caller run at a time. If another caller arrives in the meantime, the running
// caller repeats its work.
type gate struct {
	mu            sync.Mutex
	running, more bool
}

// enter reports whether the caller may run. If not, the caller that is running will repeat its
// work.
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

// leave must be called when the work of a caller has ended. It reports whether the caller must
// repeat its work. If stop is true, it returns false.
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

// repeat makes the running caller repeat its work once more.
func (g *gate) repeat() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.more = true
}

// Sweep wakes the queue of each subscription with due deliveries, because a wake-up may have been
// lost. It does not fan out changes.
func (w *Worker) Sweep(ctx context.Context) error { return w.sender.Sweep(ctx) }
