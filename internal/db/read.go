package db

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/admission"
)

// QuickLimit is how long a read may last on the connections for quick ones.
const QuickLimit = 200 * time.Millisecond

// ErrSlow is in the chain of the error that a quick read ends with when it
// starts over on the connections for long ones. Read and One do that by
// themselves; their function sees it, and may note that it is slow.
var ErrSlow = errors.New("the read starts over on a connection for long ones")

// reading is how the reads of a database are spread over its connections.
//
// Every read begins on a connection for quick ones, where it has QuickLimit.
// One that lasts longer is stopped and starts over on a connection for long
// ones, of which one member may hold half. So who asks for much waits for who
// asks for much, and nobody else does.
type reading struct {
	quick, long *sql.DB
	begun       *admission.Queue // who holds a connection for quick reads
	held, work  *admission.Queue // who holds one for long reads; who of them is not waiting for a client
	restarts    atomic.Int64
}

type memberKey struct{}

// WithMember returns a context whose long reads count for a member. Without it
// they count for nobody.
func WithMember(ctx context.Context, member int64) context.Context {
	if m, ok := ctx.Value(memberKey{}).(int64); ok && m == member {
		return ctx
	}
	return context.WithValue(ctx, memberKey{}, member)
}

// memberOf is whom a read counts for, nil for nobody.
func memberOf(ctx context.Context) any { return ctx.Value(memberKey{}) }

// Read runs fn in one read-only transaction that sees one snapshot. When that
// lasts longer than QuickLimit, fn runs a second time from its beginning, so it
// must undo what it did before and hand nothing on before it has called
// Lengthen. An error of fn is returned with its kind.
func (d *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	if d.reads == nil {
		return d.snapshot(ctx, d.reader, &Tx{}, fn)
	}
	err := d.quickRead(ctx, func() error {
		return d.snapshot(ctx, d.reads.quick, &Tx{pace: d.quickly()}, fn)
	})
	if !errors.Is(err, ErrSlow) {
		return err
	}
	d.reads.restarts.Add(1)
	return d.ReadLong(ctx, fn)
}

// ReadLong is Read for what is known to last, or cannot run twice: fn runs once,
// on a connection for long reads. Errors: as Read; fault.Transient when the
// context ends before there is a connection, or too many wait.
func (d *DB) ReadLong(ctx context.Context, fn func(*Tx) error) error {
	if d.reads == nil {
		return d.Read(ctx, fn)
	}
	return d.longRead(ctx, func(w *work) error {
		return d.snapshot(ctx, d.reads.long, &Tx{work: w}, fn)
	})
}

// One runs fn, which asks for one thing by one statement, without the snapshot
// that several need; all else is as in Read.
func (d *DB) One(ctx context.Context, fn func(Querier) error) error {
	if d.reads == nil {
		return fn(d)
	}
	err := d.quickRead(ctx, func() error {
		one := &alone{pool: d.reads.quick, pace: d.quickly()}
		return one.end(ctx, fn(one))
	})
	if !errors.Is(err, ErrSlow) {
		return err
	}
	d.reads.restarts.Add(1)
	return d.OneLong(ctx, fn)
}

// OneLong is to One what ReadLong is to Read.
func (d *DB) OneLong(ctx context.Context, fn func(Querier) error) error {
	if d.reads == nil {
		return fn(d)
	}
	return d.longRead(ctx, func(w *work) error { return fn(&alone{pool: d.reads.long, work: w}) })
}

// Quick reports whether q reads on a connection for quick reads.
func Quick(q Querier) bool {
	switch q := q.(type) {
	case *Tx:
		return q.pace != nil
	case *alone:
		return q.pace != nil
	}
	return false
}

// Lengthen says that q is about to hand something on, or is known to last. On a
// connection for quick reads it answers an error, with ErrSlow in its chain, to
// be returned at once: the read starts over where it may.
func Lengthen(q Querier) error {
	switch q := q.(type) {
	case *Tx:
		return q.pace.lengthen()
	case *alone:
		return q.pace.lengthen()
	}
	return nil
}

// Aside runs do, in which q reads nothing because it waits for a client, and
// lets others work meanwhile. Errors: that of do, or as ReadLong.
func Aside(ctx context.Context, q Querier, do func() error) error {
	var w *work
	switch q := q.(type) {
	case *Tx:
		w = q.work
	case *alone:
		w = q.work
	}
	if w == nil {
		return do()
	}
	w.stop()
	if err := do(); err != nil { // and the read ends
		return err
	}
	return w.start(ctx)
}

// snapshot runs fn in a transaction of a pool; t says how.
func (d *DB) snapshot(ctx context.Context, pool *sql.DB, t *Tx, fn func(*Tx) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer t.pace.close()
	stx, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Fault(err)
	}
	defer func() { _ = stx.Rollback() }()
	t.d, t.tx, t.ctx = d, stx, ctx
	t.pace.begin(ctx)
	if err := t.pace.judge(ctx, fn(t)); err != nil {
		return Fault(err)
	}
	return Fault(rolledBack(ctx, stx.Commit()))
}

// quickRead runs do with a place among the quick reads, of which one member may
// have three quarters.
func (d *DB) quickRead(ctx context.Context, do func() error) error {
	leave, err := d.reads.begun.Enter(ctx, memberOf(ctx))
	if err != nil {
		return err
	}
	defer leave()
	return do()
}

// longRead runs do with a place among the long reads.
func (d *DB) longRead(ctx context.Context, do func(*work) error) error {
	member := memberOf(ctx)
	leave, err := d.reads.held.Enter(ctx, member)
	if err != nil {
		return err
	}
	defer leave()
	w := &work{queue: d.reads.work, member: member}
	if err := w.start(ctx); err != nil {
		return err
	}
	defer w.stop()
	return do(w)
}

// work is the turn of a long read to keep the database busy.
type work struct {
	queue  *admission.Queue
	member any
	leave  func() // nil while it has no turn
}

func (w *work) start(ctx context.Context) (err error) {
	w.leave, err = w.queue.Enter(ctx, w.member)
	return err
}

func (w *work) stop() {
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// pace is the bound of a quick read; nil bounds nothing. A server ends the
// statements itself, without harm to their connection; in this process a context
// does.
type pace struct {
	own    bool // statements are ended by ctx
	until  time.Time
	ctx    context.Context // of the statements, where own
	cancel context.CancelFunc
	slow   bool // a statement was ended
}

func (d *DB) quickly() *pace { return &pace{own: !d.Dialect.mysql} }

// begin starts the time.
func (p *pace) begin(ctx context.Context) {
	if p == nil {
		return
	}
	p.until = time.Now().Add(QuickLimit)
	if p.own {
		p.ctx, p.cancel = context.WithDeadline(ctx, p.until)
	}
}

func (p *pace) close() {
	if p != nil && p.cancel != nil {
		p.cancel()
	}
}

// statement returns the context of the next statement, which would be ctx, or
// says that there is no time for another.
func (p *pace) statement(ctx context.Context) (context.Context, error) {
	switch {
	case p == nil:
		return ctx, nil
	case time.Now().After(p.until):
		p.slow = true
		return ctx, ErrSlow
	case p.own:
		return p.ctx, nil
	}
	return ctx, nil
}

func (p *pace) lengthen() error {
	if p == nil {
		return nil
	}
	p.slow = true
	return ErrSlow
}

// seen notes whether a statement ended because its time was over, and not the
// request's.
func (p *pace) seen(ctx context.Context, err error) {
	if p == nil || err == nil || ctx.Err() != nil || time.Now().Before(p.until) {
		return
	}
	p.slow = p.slow || tookTooLong(err) || p.own && classOf(err) == ended
}

// judge returns ErrSlow in place of err when the read has to start over.
func (p *pace) judge(ctx context.Context, err error) error {
	if p == nil || err == nil && !p.slow {
		return err
	}
	p.seen(ctx, err)
	if p.slow && !errors.Is(err, ErrSlow) {
		return errors.Join(ErrSlow, err)
	}
	return err
}

// tookTooLong reports whether a server ended a statement for its time.
func tookTooLong(err error) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (my.Number == mysqlStatementTime || my.Number == mysqlExecutionTime)
}

// alone reads by statements of their own.
type alone struct {
	pool *sql.DB
	conn *sql.Conn // where the time is bounded here, so that waiting for it does not count
	pace *pace
	work *work
}

// Query runs a reading statement.
func (a *alone) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	run, on, err := a.statement(ctx)
	if err != nil {
		return nil, Fault(err)
	}
	rows, err := on.QueryContext(run, query, args...)
	a.pace.seen(ctx, err)
	return rows, Fault(err)
}

// QueryRow runs a reading statement whose first row is scanned.
func (a *alone) QueryRow(ctx context.Context, query string, args ...any) *Row {
	run, on, err := a.statement(ctx)
	if err != nil {
		return &Row{err: Fault(err)}
	}
	return &Row{row: on.QueryRowContext(run, query, args...)}
}

// queryer is a pool or a connection of one.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// statement returns the context of a statement and where it runs. The time
// begins with the first.
func (a *alone) statement(ctx context.Context) (context.Context, queryer, error) {
	if a.pace == nil {
		return ctx, a.pool, nil
	}
	if a.pace.until.IsZero() {
		if a.pace.own {
			var err error
			if a.conn, err = a.pool.Conn(ctx); err != nil {
				return ctx, nil, err
			}
		}
		a.pace.begin(ctx)
	}
	run, err := a.pace.statement(ctx)
	if a.conn != nil {
		return run, a.conn, err
	}
	return run, a.pool, err
}

// end returns what the reading ended with.
func (a *alone) end(ctx context.Context, err error) error {
	err = a.pace.judge(ctx, err)
	a.pace.close()
	if a.conn != nil {
		_ = a.conn.Close()
	}
	return Fault(err)
}
