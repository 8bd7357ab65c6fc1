package app

import (
	"context"

	"github.com/alds-dev/alds/internal/httpapi"
	"github.com/alds-dev/alds/internal/inbound"
	"github.com/alds-dev/alds/internal/memory"
)

// Where a setting is left open, a bound follows from the machine.
const (
	defaultConns = 4096
	ownFiles     = 64 // descriptors for listeners, logs, the queue and SQLite
	memoryShare  = 4  // a quarter of what the process may use
	addressShare = 4  // a quarter of the connections
)

// bounds fills in what one client may take of the process.
func (s *service) bounds(o *httpapi.Options) {
	o.Conns = connBounds(s.cfg.MaxConns, s.cfg.ConnsPerAddress, s.ownDescriptors())
	o.Proxies = s.cfg.TrustedProxies
	o.Memory = s.memory
	o.Running = 2 * s.cfg.DBConns
	if o.MemberRequests = s.cfg.MemberRequests; o.MemberRequests == 0 {
		o.MemberRequests = max(1, s.db.Readers()*3/4)
	}
}

// ownDescriptors is how many descriptors the process needs beside those of its
// clients.
func (s *service) ownDescriptors() int {
	own := s.cfg.DBConns + ownFiles
	if s.role.works {
		own += s.cfg.WorkerConcurrency
	}
	return own
}

// connBounds are the bounds on connections of clients: those that are set, else
// what the limit of descriptors leaves, and at least a quarter of it.
func connBounds(conns, perAddress, own int) inbound.Bounds {
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

// newBudget sets Go's memory limit from what the process may use, and returns
// what of it requests may take.
func newBudget(setting int) *memory.Budget {
	limit := memory.Limit()
	memory.SetLimit(limit)
	if setting > 0 {
		return memory.NewBudget(int64(setting))
	}
	return memory.NewBudget(limit / memoryShare)
}

// muchMemory is what requests must have taken for their memory to be given back
// to the system afterwards, in bytes.
const muchMemory = 32 << 20

// keepMemory gives memory back after a load until ctx ends.
func (s *service) keepMemory(ctx context.Context) error {
	return memory.Keep(ctx, func() bool { return s.memory.Peak() > muchMemory })
}
