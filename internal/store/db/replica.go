package db

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Replicas are other servers with the same data as the writer, after a short delay.
type Replicas struct {
	Addresses []string // one server each
	// Begin is called before the first read of a replica; may be nil.
	Begin func(context.Context, *DB) error
	// Position is a query for a number that grows with each write that a member must see. The
	// argument of the query is the member.
	Position string
	// Progress is a query for a number that grows with each write.
	Progress string
}

const (
	// MaxLag is the maximum lag of a replica that is in use.
	MaxLag = 10 * time.Second

	// lookEvery is the period of the checks of each replica, and lookLimit the time limit of
	// one check. A replica that does not answer in time is left out.
	lookEvery = time.Second
	lookLimit = 2 * time.Second

	// behindFor is how long a member reads from the writer after a replica did not have the last
	// writes of the member.
	behindFor = 50 * time.Millisecond

	// maxBehind limits the number of members in replicas.behind.
	maxBehind = 10_000
)

// Reasons why a read of Elsewhere went to the writer.
const (
	WhyMember  = "member"  // the context has no member
	WhyStrong  = "strong"  // the read must see everything
	WhyNone    = "none"    // no replica is in use
	WhyBehind  = "behind"  // the replica lacked writes of the member
	WhyRefused = "refused" // the replica failed
)

// errBehind ends a read on a replica that lacks writes that its member must see.
var errBehind = errors.New("the replica lacks writes of the member")

// replicas are the replicas of a DB.
type replicas struct {
	Replicas
	all []*replica
	log *slog.Logger

	samples []sample      // progress of the writer, the oldest sample first; only look uses them
	every   time.Duration // lookEvery; less in tests

	reads  atomic.Int64             // number of reads on a replica
	writer map[string]*atomic.Int64 // number of reads on the writer, by reason

	mu     sync.Mutex
	behind map[int64]time.Time // until when a member reads from the writer, because a replica lacked its writes
}

// sample is what was read from a server at a time: its progress, and a number that identifies its
// migrations.
type sample struct {
	at       time.Time
	progress int64
	schema   int64
}

// replica is one server. Its db has only pools for reading.
type replica struct {
	name string // host:port
	db   *DB

	used atomic.Bool
	lag  atomic.Int64 // nanoseconds; below 0: unknown
	told int          // what was logged last; only look uses it
}

// openReplicas opens the replicas without connecting to them.
func (d *DB) openReplicas(o Replicas, conns int) error {
	if len(o.Addresses) == 0 {
		return nil
	}
	if !d.Dialect.mysql {
		return errors.New("SQLite cannot have replicas")
	}
	set := &replicas{Replicas: o, log: d.log, every: lookEvery, writer: map[string]*atomic.Int64{}, behind: map[int64]time.Time{}}
	for _, why := range []string{WhyMember, WhyStrong, WhyNone, WhyBehind, WhyRefused} {
		set.writer[why] = &atomic.Int64{}
	}
	d.replicas = set
	for _, address := range o.Addresses {
		r, err := d.openReplica(address, conns)
		if err != nil {
			return err
		}
		set.all = append(set.all, r)
	}
	return nil
}

func (d *DB) openReplica(address string, conns int) (*replica, error) {
	server, err := d.server.NewReplica(address, lookLimit)
	if err != nil {
		return nil, err
	}
	r := &replica{name: server.Address()}
	r.lag.Store(-1)
	v := &DB{Dialect: d.Dialect, limit: d.limit, log: d.log, server: server, pinned: true}
	n := split(max(1, conns/2))
	read := func(conns int, limit time.Duration) (pool *sql.DB) {
		if err == nil {
			pool, err = server.Reads(conns, limit)
		}
		return pool
	}
	v.health = read(1, lookLimit)
	v.reads = newReadPools(read(n.quick, QuickLimit), read(n.long, d.limit), n)
	v.reader, v.lookups = v.health, v.health
	r.db = v
	return r, err
}

func (s *replicas) close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, r := range s.all {
		errs = append(errs, r.db.server.Close())
	}
	return errors.Join(errs...)
}

// Elsewhere returns a view of d whose Read, ReadLong, One and OneLong run on a replica if possible.
// The replica must be in use, and must have all writes that the member must see (Consistency).
// Otherwise these reads run on the writer. If the replica fails before anything was sent to a
// client (Yield), the function of the read runs a second time, on the writer. Without replicas the
// view reads like d.
func (d *DB) Elsewhere() *DB {
	v := *d
	v.elsewhere = d.replicas != nil
	return &v
}

// first is a function that is called before the statements of a read, with the Querier that runs
// them.
type first func(ctx context.Context, q Querier) error

func (begin first) tx(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	return func(t *Tx) error {
		if err := begin(ctx, t); err != nil {
			return err
		}
		return fn(t)
	}
}

func (begin first) one(ctx context.Context, fn func(Querier) error) func(Querier) error {
	return func(q Querier) error {
		if err := begin(ctx, q); err != nil {
			return err
		}
		return fn(q)
	}
}

// route runs a read on a replica or on the writer.
func (d *DB) route(ctx context.Context, read func(on *DB, begin first) error) error {
	home := *d
	home.elsewhere = false
	s := d.replicas
	r, position, why, err := s.choose(ctx, &home)
	if err != nil {
		return err
	}
	if r != nil {
		sent := false
		err := read(r.db, func(ctx context.Context, q Querier) error {
			noteSent(q, &sent)
			return s.reached(ctx, q, position)
		})
		switch {
		case errors.Is(err, errBehind):
			why = WhyBehind
			s.isBehind(position.member)
		case err != nil && !sent && ctx.Err() == nil && failedThere(err):
			why = WhyRefused
			r.refused(s.log, err)
		default:
			s.reads.Add(1)
			return err
		}
	}
	s.writer[why].Add(1)
	return read(&home, func(context.Context, Querier) error { return nil })
}

// place is the progress that a replica must have reached for a member.
type place struct{ member, writes int64 }

// everybody is an argument of the query Replicas.Position instead of a member. The query then
// counts only the writes that all members must see.
const everybody = 0

// choose returns the replica for a read and the progress that it must have reached, or the reason
// why the read goes to the writer. A member uses the same replica in all processes while that
// replica is in use, so its reads do not alternate between two states.
func (s *replicas) choose(ctx context.Context, home *DB) (*replica, *place, string, error) {
	member, ok := memberOf(ctx).(int64)
	c := consistencyOf(ctx)
	switch {
	case c == Strong:
		return nil, nil, WhyStrong, nil
	case !ok:
		return nil, nil, WhyMember, nil
	}
	r := s.of(member)
	if c == Eventual {
		member = everybody
	}
	switch {
	case r == nil:
		return nil, nil, WhyNone, nil
	case s.wasBehind(member):
		return nil, nil, WhyBehind, nil
	}
	p := &place{member: member}
	err := home.One(ctx, func(q Querier) error { return q.QueryRow(ctx, s.Position, member).Scan(&p.writes) })
	return r, p, "", err
}

// This method returns the replica for a member, or nil if no replica is in use.
func (s *replicas) of(member int64) *replica {
	n := uint64(len(s.all))
	for i := range n {
		if r := s.all[(uint64(member)+i)%n]; r.used.Load() {
			return r
		}
	}
	return nil
}

// reached returns errBehind if the server of q lacks writes that the member must see. In a
// transaction its query is the first statement, so all later statements see the same snapshot.
func (s *replicas) reached(ctx context.Context, q Querier, p *place) error {
	var writes int64
	if err := q.QueryRow(ctx, s.Position, p.member).Scan(&writes); err != nil {
		return err
	}
	if writes < p.writes {
		return errBehind
	}
	return nil
}

// isBehind records that a replica lacked writes of a member.
func (s *replicas) isBehind(member int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.behind) >= maxBehind {
		clear(s.behind)
	}
	s.behind[member] = time.Now().Add(behindFor)
}

func (s *replicas) wasBehind(member int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.behind[member]
	if ok && time.Now().After(until) {
		delete(s.behind, member)
		ok = false
	}
	return ok
}

// noteSent makes the read q set *sent to true when q sends something to a client.
func noteSent(q Querier, sent *bool) {
	switch q := q.(type) {
	case *Tx:
		q.sent = sent
	case *singleRead:
		q.sent = sent
	}
}

// failedThere reports whether err comes from the server or the network, so that another
// server may succeed. A read that took too long would also take too long there.
func failedThere(err error) bool {
	if sqlerror.IsTimeLimit(err) {
		return false
	}
	switch sqlerror.ClassOf(err) {
	case sqlerror.NoRows, sqlerror.Duplicate, sqlerror.Ended, sqlerror.TooLarge, sqlerror.TooComplex:
		return false
	case sqlerror.Other:
		return sqlerror.FromServer(err)
	default:
		return true
	}
}
