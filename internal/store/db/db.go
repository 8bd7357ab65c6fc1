package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/connection"
	"github.com/alds-dev/alds/internal/store/engine"
	"github.com/alds-dev/alds/internal/store/migrate"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Result is the result of Exec; RowsAffected counts matched rows.
type Result = sql.Result

// Rows is the result of Query. The caller closes it and passes its Err to sqlerror.Fault. The
// function Each does both.
type Rows = sql.Rows

// Querier runs reading statements: a *Tx, or a *DB for one statement.
type Querier interface {
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *Row
}

// Options are the options of Open. The zero value is valid.
type Options struct {
	Log        *slog.Logger  // nil: no log
	MaxConns   int           // connections in total, half of them for reads; 0 means 40
	WriteLimit time.Duration // the longest a write transaction may last; 0 means 60 s
	Replicas   Replicas      // for reads of Elsewhere; the zero value means none
}

const (
	defaultConns      = 40
	defaultWriteLimit = 60 * time.Second
	smallConns        = 4
)

// DB is an open database, safe for concurrent use.
type DB struct {
	// Dialect describes how this server differs from others.
	Dialect *Dialect

	// Migrations migrate the database, and compare its schema with this build.
	*migrate.Migrations

	reader  *sql.DB    // for single statements
	lookups *sql.DB    // see Lookup
	health  *sql.DB    // see Health
	reads   *readPools // for Read and One; nil: they use reader
	writer  *sql.DB
	small   *sql.DB
	server  *connection.Server // nil on SQLite

	replicas  *replicas // nil if there are none
	elsewhere bool      // reads go to replicas where possible, see Elsewhere
	pinned    bool      // true for a replica: all statements of a read run on one connection

	statistics *statistics // nil on MySQL
	turns      *turns      // order of the writes; nil on MySQL

	checkpoints *checkpoints // nil on MySQL

	engine *atomic.Pointer[engine.Engine] // kind of the server; nil before the first call of Engine

	noRoom *atomic.Int64 // number of writes that failed because the server was full

	limit time.Duration

	lockedReads time.Duration // see MaxLockedRead
	log         *slog.Logger
	gorm        *gorm.DB
}

// Open opens the database at address, mysql://user:pass@host:3306/name or sqlite:path, and
// pings the server.
// Errors: fault.Invalid for an invalid address (without its password),
// fault.Transient when the server does not answer.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	if o.MaxConns <= 0 {
		o.MaxConns = defaultConns
	}
	if o.WriteLimit <= 0 {
		o.WriteLimit = defaultWriteLimit
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &DB{limit: o.WriteLimit, lockedReads: MaxLockedRead, log: o.Log, noRoom: new(atomic.Int64), engine: new(atomic.Pointer[engine.Engine])}
	var err error
	switch scheme, rest, _ := strings.Cut(address, ":"); scheme {
	case "mysql":
		err = d.openMySQL(address, o.MaxConns)
	case "sqlite":
		err = d.openSQLite(strings.TrimPrefix(rest, "//"), o.MaxConns)
	default:
		err = errors.New("want mysql://user:pass@host:3306/name or sqlite:path")
	}
	if err == nil {
		err = d.openReplicas(o.Replicas, o.MaxConns)
	}
	if err != nil {
		_ = d.Close()
		return nil, fault.Invalidf(fault.NoPlace, "database address: %v", err)
	}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// start pings the server, and loads the migrations and gorm.
func (d *DB) start(ctx context.Context) error {
	if err := d.writer.PingContext(ctx); err != nil {
		if sqlerror.ClassOf(err) == sqlerror.Other {
			return fmt.Errorf("open database: %w", err)
		}
		return fault.Transientf(err, "the database does not answer")
	}
	if d.Dialect.mysql {
		if err := d.learn(ctx); err != nil {
			return err
		}
	}
	var err error
	if d.Migrations, err = d.migrations(); err != nil {
		return err
	}
	d.gorm, err = d.openGorm()
	if d.replicas != nil {
		for _, r := range d.replicas.all {
			r.db.gorm = d.gorm
		}
	}
	return err
}

func (d *DB) openMySQL(address string, conns int) (err error) {
	d.Dialect = mysqlDialect()
	if d.server, err = connection.NewServer(address, d.limit+30*time.Second, d.log); err != nil {
		return err
	}
	half := max(1, conns/2)
	read := func(conns int, limit time.Duration) *sql.DB {
		if err != nil {
			return nil
		}
		var pool *sql.DB
		pool, err = d.server.Reads(conns, limit)
		return pool
	}
	n := split(half)
	d.reader, d.lookups, d.health = read(n.reader, d.limit), read(n.lookups, d.limit), read(1, d.limit)
	d.reads = newReadPools(read(n.quick, QuickLimit), read(n.long, d.limit), n)
	if err != nil {
		return err
	}
	if d.writer, err = d.server.Writes(half); err != nil {
		return err
	}
	d.small, err = d.server.Writes(min(smallConns, half))
	return err
}

func (d *DB) openSQLite(path string, conns int) error {
	d.Dialect = sqliteDialect()
	file, err := connection.NewFile(path, checkpointMost, logKept)
	if err != nil {
		return err
	}
	if d.writer, err = file.Writes(); err != nil {
		return err
	}
	n := split(max(1, conns/5))
	n.active = max(2, min(n.active, runtime.GOMAXPROCS(0))) // statements run on the processors of this process
	read := func(conns int) *sql.DB {
		if err != nil {
			return nil
		}
		var pool *sql.DB
		pool, err = file.Reads(conns)
		return pool
	}
	d.reader, d.lookups, d.health = read(n.reader), read(n.lookups), read(1)
	d.reads = newReadPools(read(n.quick), read(n.long), n)
	if err != nil {
		return err
	}
	d.small, d.statistics, d.turns = d.writer, newStatistics(), &turns{reads: MaxTurnRead}
	return d.startCheckpoints(file)
}

// Lookup returns a view of d that has a few connections for itself, so that other queries cannot
// use them up. It is for data that every request reads first, such as logins and rights. Its reads
// never restart on another connection. It is closed together with d.
func (d *DB) Lookup() *DB {
	v := *d
	v.reader, v.reads = d.lookups, nil
	v.gorm = d.gorm.Clauses(dbresolver.Use(lookupPool)).Session(&gorm.Session{})
	return &v
}

// Health returns a view of d for Ping, Writable and SchemaIsCurrent. It has a connection for
// itself, so it never waits for requests. It is closed together with d.
func (d *DB) Health() *DB {
	v := *d
	v.reader, v.lookups, v.reads = d.health, d.health, nil
	v.Migrations = d.ReadOn(d.health)
	return &v
}

// Close closes all connections without waiting for statements.
func (d *DB) Close() error {
	err := errors.Join(d.checkpoints.close(), d.replicas.close())
	if d.server != nil {
		return errors.Join(err, d.server.Close())
	}
	pools := []*sql.DB{d.reader, d.lookups, d.health, d.writer}
	if d.reads != nil {
		pools = append(pools, d.reads.quick, d.reads.long)
	}
	return errors.Join(err, closeAll(pools...))
}

func closeAll(pools ...*sql.DB) error {
	var errs []error
	for _, pool := range pools {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

// Ping pings the server. It is for checks of readiness.
// Errors: fault.Transient.
func (d *DB) Ping(ctx context.Context) error { return sqlerror.Fault(d.lookups.PingContext(ctx)) }

// RoundTrip returns the shortest time of several round trips to the server.
// Errors: fault.Transient.
func (d *DB) RoundTrip(ctx context.Context) (time.Duration, error) {
	shortest := time.Duration(math.MaxInt64)
	for range 10 {
		began := time.Now()
		if err := d.Ping(ctx); err != nil {
			return 0, err
		}
		shortest = min(shortest, time.Since(began))
	}
	return shortest, nil
}

// Readers returns the maximum number of reading connections, replicas not included.
func (d *DB) Readers() int {
	n := 0
	for _, p := range d.Pools() {
		if p.Name != poolOfWrites && p.Name != poolOfShort && p.Name != poolReplica {
			n += p.Limit
		}
	}
	return n
}

func (d *DB) dialect() *Dialect { return d.Dialect }

// Query runs one reading statement.
func (d *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := d.reader.QueryContext(ctx, query, args...)
	return rows, sqlerror.Fault(err)
}

// QueryRow runs one reading statement; Row.Scan copies its first row.
func (d *DB) QueryRow(ctx context.Context, query string, args ...any) *Row {
	return &Row{row: d.reader.QueryRowContext(ctx, query, args...)}
}

// Exec runs one writing statement.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := d.writer.ExecContext(ctx, query, args...)
	d.checkpoints.wake()
	return r, sqlerror.Fault(err)
}

// Row is the result of QueryRow.
type Row struct {
	row *sql.Row
	err error
	tx  *Tx
}

// Scan copies the columns of the row. Errors: fault.NotFound if there is no row.
func (r *Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	err := r.row.Scan(dest...)
	if r.tx != nil {
		return r.tx.classify(err)
	}
	return sqlerror.Fault(err)
}
