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
	ownFiles     = 64 // descriptors for listeners, logs, the queue and SQLite
	memoryShare  = 4  // requests may use a quarter of the memory
	addressShare = 4  // one address may have a quarter of the connections

	recentPerCore = 8 // recent requests for each core; see Options.Recent of package httpapi
)

// setLimits sets the limits of requests and connections.
func (s *service) setLimits(ctx context.Context, o *httpapi.Options) error {
	o.Conns = connLimits(s.cfg.MaxConns, s.cfg.ConnsPerAddress, s.ownDescriptors())
	o.Proxies = s.cfg.TrustedProxies
	o.Memory = s.memory
	o.Running = 2 * s.cfg.DBConns
	if o.MemberRequests = s.cfg.MemberRequests; o.MemberRequests == 0 {
		o.MemberRequests = max(1, s.DB.Readers()*3/4)
	}
	return s.retry(ctx, func(ctx context.Context) error {
		trip, err := s.DB.RoundTrip(ctx)
		o.Recent = recentRequests(runtime.GOMAXPROCS(0), trip)
		return err
	})
}

// recentRequests returns how many recent requests may run at the same time; see Options.Recent of
// package httpapi. That is recentPerCore for each core, and the same number again for each
// millisecond of a round trip to the database. While a request waits for the database, other
// requests can use its core.
func recentRequests(cores int, trip time.Duration) int {
	return int(recentPerCore * float64(cores) * (1 + trip.Seconds()*1000))
}

// ownDescriptors returns how many descriptors the process needs besides those of client
// connections.
func (s *service) ownDescriptors() int {
	own := s.cfg.DBConns + ownFiles
	if s.role.works {
		own += s.cfg.WorkerConcurrency
	}
	return own
}

// connLimits returns the limits of client connections. A setting that is 0 gets a default. The
// default of conns is the file descriptor limit minus own, but at least a quarter of the file
// descriptor limit and at most defaultConns.
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

// newBudget sets Go's memory limit from the memory that the process may use, and returns the memory
// budget of requests. setting is the size of the budget in bytes; 0: a quarter of the memory that
// the process may use.
func newBudget(setting int) *memory.Budget {
	limit := memory.Limit()
	memory.SetLimit(limit)
	if setting > 0 {
		return memory.NewBudget(int64(setting))
	}
	return memory.NewBudget(limit / memoryShare)
}

// returnedFrom is a number of bytes. Memory is returned to the system only if requests have used
// more than this at the same time.
const returnedFrom = 32 << 20

// returnMemory returns unused memory to the system after a peak of requests, until ctx ends.
func (s *service) returnMemory(ctx context.Context) error {
	return memory.ReturnUnused(ctx, func() bool { return s.memory.Peak() > returnedFrom })
}
