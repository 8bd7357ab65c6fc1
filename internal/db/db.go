package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/alds-dev/alds/internal/fault"
	schema "github.com/alds-dev/alds/sql"
)

// Result is what Exec answers; RowsAffected counts matched rows.
type Result = sql.Result

// Rows is what Query answers. The caller closes it and looks at Err, which
// Fault gives its kind.
type Rows = sql.Rows

// Querier reads: a *Tx, or a *DB where one statement is all.
type Querier interface {
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *Row
}

// Options are what Open may be told. The zero value is good.
type Options struct {
	Log        *slog.Logger  // nil: nothing is logged
	MaxConns   int           // connections in all; 0 means 40. Half of them read
	WriteLimit time.Duration // the longest a write transaction may last; 0 means 60 s
}

const (
	defaultConns      = 40
	defaultWriteLimit = 60 * time.Second
	smallConns        = 4
)

// DB is an open database, safe for concurrent use.
type DB struct {
	// Dialect is what this server does differently.
	Dialect *Dialect

	reader  *sql.DB  // statements on their own
	lookups *sql.DB  // what every request needs; see Lookup
	reads   *reading // what Read runs on; nil: reader
	writer  *sql.DB
	small   *sql.DB
	killer  *killer // nil on SQLite

	limit time.Duration
	log   *slog.Logger
	gorm  *gorm.DB
	steps []schema.Migration
	admin func() (*sql.DB, error) // a pool of one without an answer limit, for Migrate
	name  string                  // of the database, for the migration lock
}

// Open connects to address, mysql://user:pass@host:3306/name or sqlite:path,
// and makes sure that the server answers.
// Errors: fault.Invalid for an address that makes no sense (never showing its
// password), fault.Transient when nobody answers.
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
	d := &DB{limit: o.WriteLimit, log: o.Log}
	var err error
	switch scheme, rest, _ := strings.Cut(address, ":"); scheme {
	case "mysql":
		err = d.openMySQL(address, o.MaxConns)
	case "sqlite":
		err = d.openSQLite(strings.TrimPrefix(rest, "//"), o.MaxConns)
	default:
		err = errors.New("want mysql://user:pass@host:3306/name or sqlite:path")
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

// start checks that the server answers and loads what the handle needs.
func (d *DB) start(ctx context.Context) error {
	if err := d.writer.PingContext(ctx); err != nil {
		if classOf(err) == other {
			return fmt.Errorf("open database: %w", err)
		}
		return fault.Transientf(err, "the database does not answer")
	}
	var err error
	if d.steps, err = schema.Migrations(d.Dialect.Name); err != nil {
		return err
	}
	d.gorm, err = d.openGorm()
	return err
}

func (d *DB) openMySQL(address string, conns int) error {
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("it is not a URL") // the cause would show the password
	}
	c, err := mysqlConfig(u)
	if err != nil {
		return err
	}
	answer := d.limit + 30*time.Second
	d.Dialect, d.name = mysqlDialect(), c.DBName
	inner, err := mysql.NewConnector(killConfig(c))
	if err != nil {
		return err
	}
	d.killer = newKiller(inner)
	half := max(1, conns/2)
	read := func(conns int, limit time.Duration) *sql.DB {
		if err != nil {
			return nil
		}
		var pool *sql.DB
		pool, err = d.mysqlPool(c, "REPEATABLE READ", conns, answer, statementLimit(limit))
		return pool
	}
	n := split(half)
	d.reader, d.lookups = read(n.reader, d.limit), read(n.lookups, d.limit)
	d.reads = newReading(read(n.quick, QuickLimit), read(n.long, d.limit), n)
	if err != nil {
		return err
	}
	if d.writer, err = d.mysqlPool(c, "READ COMMITTED", half, answer); err != nil {
		return err
	}
	d.small, err = d.mysqlPool(c, "READ COMMITTED", min(smallConns, half), answer)
	d.admin = func() (*sql.DB, error) { return d.mysqlPool(c, "READ COMMITTED", 1, 0) }
	return err
}

func (d *DB) openSQLite(path string, conns int) (err error) {
	d.Dialect, d.name = sqliteDialect(), path
	n := split(max(1, conns/5))
	n.work = max(2, min(n.work, runtime.GOMAXPROCS(0))) // statements run on the processors of this process
	var readers []*sql.DB
	d.writer, readers, err = sqlitePools(path, n.reader, n.lookups, n.quick, n.long)
	if err != nil {
		_ = closeAll(readers...)
		return err
	}
	d.reader, d.lookups = readers[0], readers[1]
	d.reads = newReading(readers[2], readers[3], n)
	d.small = d.writer
	return nil
}

// Lookup returns a view of d whose reads have a few connections of their own: for
// what every request needs first, such as logins and rights, so that no query can
// take them. Its reads are short and never start over; it is closed with d.
func (d *DB) Lookup() *DB {
	v := *d
	v.reader, v.reads = d.lookups, nil
	v.gorm = d.gorm.Clauses(dbresolver.Use(lookupPool)).Session(&gorm.Session{})
	return &v
}

// Close ends all connections; it waits for nothing.
func (d *DB) Close() error {
	pools := []*sql.DB{d.reader, d.lookups, d.small, d.writer}
	if d.reads != nil {
		pools = append(pools, d.reads.quick, d.reads.long)
	}
	err := closeAll(pools...)
	if d.killer != nil {
		err = errors.Join(err, d.killer.close())
	}
	return err
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

// Ping asks the server whether it answers; for readiness.
// Errors: fault.Transient.
func (d *DB) Ping(ctx context.Context) error { return Fault(d.lookups.PingContext(ctx)) }

// Readers returns how many connections that read there may be, of all kinds.
func (d *DB) Readers() int {
	n := 0
	for _, p := range d.Pools() {
		if p.Name != poolOfWrites {
			n += p.Limit
		}
	}
	return n
}

func (d *DB) dialect() *Dialect { return d.Dialect }

// Query runs one reading statement on its own.
func (d *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := d.reader.QueryContext(ctx, query, args...)
	return rows, Fault(err)
}

// QueryRow runs one reading statement whose first row is scanned.
func (d *DB) QueryRow(ctx context.Context, query string, args ...any) *Row {
	return &Row{row: d.reader.QueryRowContext(ctx, query, args...)}
}

// Exec runs one writing statement on its own.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := d.writer.ExecContext(ctx, query, args...)
	return r, Fault(err)
}

// Row is one row to be scanned.
type Row struct {
	row *sql.Row
	err error
	tx  *Tx
}

// Scan copies the columns of the row. Errors: fault.NotFound when there is none.
func (r *Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	err := r.row.Scan(dest...)
	if r.tx != nil {
		return r.tx.seen(err)
	}
	return Fault(err)
}
