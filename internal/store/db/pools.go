package db

import (
	"database/sql"

	"github.com/alds-dev/alds/internal/limits/admission"
)

// sizes has the numbers of connections for reads, by kind. Quick reads, long reads and lookups have
// separate connections, so that no kind waits for another. active is how many long reads may run
// statements at the same time.
type sizes struct {
	quick, long, active, reader, lookups int
}

// split divides n connections: a tenth is for lookups, and a fifth for single statements. Half of
// the rest is for quick reads, and half for long reads. Quick and long reads get at least two
// connections each, so that one member cannot use all.
func split(n int) sizes {
	lookups, reader := max(1, n/10), max(1, n/5)
	remaining := n - lookups - reader
	long := max(2, remaining/2)
	return sizes{quick: max(2, remaining-long), long: long, active: max(2, (long+1)/2), reader: reader, lookups: lookups}
}

func newReadPools(quick, long *sql.DB, n sizes) *readPools {
	return &readPools{
		stall: stallTime,
		quick: quick, long: long,
		quickQueue: newReadQueue(n.quick, n.quick*3/4), longQueue: newReadQueue(n.long, n.long/2), activeQueue: newReadQueue(n.active, n.active/2),
	}
}

// maxWaiting is the maximum number of queued reads of one member; more are refused.
const maxWaiting = 500

// newReadQueue returns a queue that admits size reads at a time, and at most share reads of one
// member.
func newReadQueue(size, share int) *admission.Queue {
	return admission.New(admission.Bounds{Running: max(1, size), PerKey: max(1, share), Line: maxWaiting})
}

// Names of the pools for writing, and of the Pool that sums up all replicas.
const (
	poolOfWrites = "write"
	poolOfShort  = "short"
	poolReplica  = "replica"
)

// Pool is the state of one pool of connections.
type Pool struct {
	Name        string // quick, long, other, lookup, write, short or replica
	Used, Limit int
}

// Pools returns the state of each pool.
func (d *DB) Pools() []Pool {
	var list []Pool
	add := func(name string, pool *sql.DB) {
		s := pool.Stats()
		list = append(list, Pool{Name: name, Used: s.InUse, Limit: s.MaxOpenConnections})
	}
	if d.reads != nil {
		add("quick", d.reads.quick)
		add("long", d.reads.long)
	}
	add("other", d.reader)
	add("lookup", d.lookups)
	add(poolOfWrites, d.writer)
	if d.small != d.writer {
		add(poolOfShort, d.small)
	}
	if d.replicas != nil {
		list = append(list, d.replicas.pool())
	}
	return list
}

// InUse returns the connections in use and their maximum, over all pools.
func (d *DB) InUse() (used, limit int) {
	for _, p := range d.Pools() {
		used, limit = used+p.Used, limit+p.Limit
	}
	return used, limit
}

// Counts counts events since d was opened.
type Counts struct {
	Restarts int64 // quick reads that restarted as long ones
	Kills    int64 // statements that were canceled and killed on the server
	Waiting  int   // long reads that are queued now
	NoRoom   int64 // writes that failed because the server was full
}

// Counts returns the current counts.
func (d *DB) Counts() Counts {
	var c Counts
	if d.reads != nil {
		c.Restarts = d.reads.restarts.Load()
		_, places := d.reads.longQueue.Load()
		_, turns := d.reads.activeQueue.Load()
		c.Waiting = places + turns
	}
	c.NoRoom = d.noRoom.Load()
	if d.server != nil {
		c.Kills = d.server.Counts().Kills
	}
	return c
}
