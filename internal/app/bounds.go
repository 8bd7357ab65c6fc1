package app

import (
	"context"
	"runtime"
	"time"

	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// Defaults that depend on the machine.
const (
	defaultConns = 4096
	ownFiles     = 64 // descriptors of listeners, logs, the queue and SQLite
	memoryShare  = 4  // requests may use a quarter of the memory
	addressShare = 4  // one address may have a quarter of the connections

	recentPerCore = 8 // requests that began a moment ago
)

// setLimits sets what requests may use of the process.
func (s *service) setLimits(ctx context.Context, o *httpapi.Options) error {
	o.Conns = connLimits(s.cfg.MaxConns, s.cfg.ConnsPerAddress, s.ownDescriptors())
	o.Proxies = s.cfg.TrustedProxies
	o.Memory = s.memory
	o.Running = 2 * s.cfg.DBConns
	if o.MemberRequests = s.cfg.MemberRequests; o.MemberRequests == 0 {
		o.MemberRequests = max(1, s.db.Readers()*3/4)
	}
	return s.retry(ctx, func(ctx context.Context) error {
		trip, err := s.db.RoundTrip(ctx)
		o.Recent = recentRequests(runtime.GOMAXPROCS(0), trip)
		return err
	})
}

// recentRequests returns how many requests that began a moment ago may run: those of a
// database that is far away wait for it and leave the cores to more of them, another
// recentPerCore for each millisecond of a round trip.
func recentRequests(cores int, trip time.Duration) int {
	return int(recentPerCore * float64(cores) * (1 + trip.Seconds()*1000))
}

// ownDescriptors returns how many descriptors the process needs apart from its
// clients' connections.
func (s *service) ownDescriptors() int {
	own := s.cfg.DBConns + ownFiles
	if s.role.works {
		own += s.cfg.WorkerConcurrency
	}
	return own
}

// connLimits returns the limits on client connections: the settings, else what the
// descriptor limit leaves, at least a quarter of it.
func connLimits(conns, perAddress, own int) inbound.Bounds {
	if conns == 0 {
		conns = defaultConns
		if n, ok := inbound.Descriptors(); ok {
			conns = min(conns, max(n-own, n/4, 1))
		}
	}
	if perAddress == 0 {
		perAddress = max(1, conns/addressShare)
	}
	return inbound.Bounds{Conns: conns, PerAddress: min(perAddress, conns)}
}

// newBudget sets Go's memory limit to what the process may use, and returns the
// budget of requests.
func newBudget(setting int) *memory.Budget {
	limit := memory.Limit()
	memory.SetLimit(limit)
	if setting > 0 {
		return memory.NewBudget(int64(setting))
	}
	return memory.NewBudget(limit / memoryShare)
}

// returnedFrom is how many bytes requests must have used at once for memory to be
// returned to the system afterwards.
const returnedFrom = 32 << 20

// returnMemory returns memory to the system after load, until ctx ends.
func (s *service) returnMemory(ctx context.Context) error {
	return memory.ReturnUnused(ctx, func() bool { return s.memory.Peak() > returnedFrom })
}
