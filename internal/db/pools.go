package db

import (
	"database/sql"

	"github.com/alds-dev/alds/internal/admission"
)

// sizes is how the connections that read are split. See decision 171.
type sizes struct {
	quick, long, work, reader, lookups int
}

// split splits n connections: a tenth for lookups, a fifth for statements on
// their own, half of the rest for quick reads and half for long ones. Two of each
// there are at least, so that one member cannot have all.
func split(n int) sizes {
	lookups, reader := max(1, n/10), max(1, n/5)
	rest := n - lookups - reader
	long := max(2, rest/2)
	return sizes{quick: max(2, rest-long), long: long, work: max(2, (long+1)/2), reader: reader, lookups: lookups}
}

func newReading(quick, long *sql.DB, n sizes) *reading {
	return &reading{
		quick: quick, long: long,
		begun: newQueue(n.quick, n.quick*3/4), held: newQueue(n.long, n.long/2), work: newQueue(n.work, n.work/2),
	}
}

// maxWaiting is how many reads of one member wait for their turn; more are refused.
const maxWaiting = 500

// newQueue admits size reads at a time, of one member share of them.
func newQueue(size, share int) *admission.Queue {
	return admission.New(admission.Bounds{Running: max(1, size), PerKey: max(1, share), Line: maxWaiting})
}

const poolOfWrites = "write"

// Pool is the state of some of the connections.
type Pool struct {
	Name        string // quick, long, other, lookup or write
	Used, Limit int
}

// Pools returns how many connections are in use and how many there may be.
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
	return list
}

// InUse returns how many connections are in use and how many there may be.
func (d *DB) InUse() (used, limit int) {
	for _, p := range d.Pools() {
		used, limit = used+p.Used, limit+p.Limit
	}
	return used, limit
}

// Counts is what has happened to reads since d was opened.
type Counts struct {
	Restarts int64 // reads that began as quick ones and started over
	Kills    int64 // statements given up by who asked and ended at the server
	Waiting  int   // long reads that wait for others, now
}

// Counts returns what has happened to reads.
func (d *DB) Counts() Counts {
	var c Counts
	if d.reads != nil {
		c.Restarts = d.reads.restarts.Load()
		_, places := d.reads.held.Load()
		_, turns := d.reads.work.Load()
		c.Waiting = places + turns
	}
	if d.killer != nil {
		c.Kills = d.killer.kills.Load()
	}
	return c
}
