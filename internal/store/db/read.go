package db

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// QuickLimit is the maximum duration of a read on a quick connection.
const QuickLimit = 200 * time.Millisecond

// ErrSlow is in the error chain of a quick read that was too slow. Read and One then run the read
// again, on a long connection. Code inside the read can recognize such an error by ErrSlow.
var ErrSlow = errors.New("the read restarts on a connection for long reads")

// readPools has the connections for reads. Each read starts on a quick connection, for at most
// QuickLimit. A longer read is canceled and restarts on a long connection. So long reads only wait
// for other long reads. One member may use half of the long connections.
type readPools struct {
	quick, long            *sql.DB
	quickQueue             *admission.Queue // reads on quick connections
	longQueue, activeQueue *admission.Queue // long reads; those of them that may run statements now
	restarts               atomic.Int64
	stall                  time.Duration // how long a read may wait for its client while others are queued
}

type memberKey struct{}

// WithMember returns a context whose reads count for a member.
func WithMember(ctx context.Context, member int64) context.Context {
	if m, ok := ctx.Value(memberKey{}).(int64); ok && m == member {
		return ctx
	}
	return context.WithValue(ctx, memberKey{}, member)
}

// memberOf returns the member whose turn a read uses, or nil.
func memberOf(ctx context.Context) any { return ctx.Value(memberKey{}) }

// Read runs fn in one read-only transaction that sees one snapshot. When it lasts longer than
// QuickLimit, fn runs a second time. So fn must reset its results, and must call RequireLong
// before it sends anything to a client. An error of fn is returned with its kind.
func (d *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	if d.elsewhere {
		return d.route(ctx, func(on *DB, begin first) error { return on.Read(ctx, begin.tx(ctx, fn)) })
	}
	if d.reads == nil {
		return d.snapshot(ctx, d.reader, &Tx{}, fn)
	}
	err := d.quickRead(ctx, func() error {
		return d.snapshot(ctx, d.reads.quick, &Tx{deadline: d.newDeadline()}, fn)
	})
	if !errors.Is(err, ErrSlow) {
		return err
	}
	d.reads.restarts.Add(1)
	return d.ReadLong(ctx, fn)
}

// ReadLong is like Read, for a function that is slow or cannot run twice: fn runs once, on a long
// connection. Errors: as for Read; fault.Transient if the context ends before a connection is free,
// or if too many reads are queued.
func (d *DB) ReadLong(ctx context.Context, fn func(*Tx) error) error {
	if d.elsewhere {
		return d.route(ctx, func(on *DB, begin first) error { return on.ReadLong(ctx, begin.tx(ctx, fn)) })
	}
	if d.reads == nil {
		return d.Read(ctx, fn)
	}
	return d.longRead(ctx, func(ctx context.Context, w *activeSlot) error {
		return d.snapshot(ctx, d.reads.long, &Tx{slot: w}, fn)
	})
}

// One is like Read, for a function that runs one statement. It uses no transaction.
func (d *DB) One(ctx context.Context, fn func(Querier) error) error {
	if d.elsewhere {
		return d.route(ctx, func(on *DB, begin first) error { return on.One(ctx, begin.one(ctx, fn)) })
	}
	if d.reads == nil {
		return fn(d)
	}
	ctx, span := tracing.Child(ctx, "read")
	err := d.quickRead(ctx, func() error {
		one := &singleRead{pool: d.reads.quick, pinned: d.pinned, deadline: d.newDeadline()}
		return one.close(ctx, fn(one))
	})
	if errors.Is(err, ErrSlow) {
		d.reads.restarts.Add(1)
		err = d.OneLong(ctx, fn)
	}
	span.End(err)
	return err
}

// OneLong is like ReadLong, for a function that runs one statement. It uses no transaction.
func (d *DB) OneLong(ctx context.Context, fn func(Querier) error) error {
	if d.elsewhere {
		return d.route(ctx, func(on *DB, begin first) error { return on.OneLong(ctx, begin.one(ctx, fn)) })
	}
	if d.reads == nil {
		return fn(d)
	}
	return d.longRead(ctx, func(ctx context.Context, w *activeSlot) error {
		one := &singleRead{pool: d.reads.long, pinned: d.pinned, slot: w}
		return one.close(ctx, fn(one))
	})
}

// Quick reports whether q is a read on a quick connection.
func Quick(q Querier) bool {
	switch q := q.(type) {
	case *Tx:
		return q.deadline != nil
	case *singleRead:
		return q.deadline != nil
	}
	return false
}

// RequireLong is called before q sends something to a client, or when the read will be slow.
// On a quick connection it returns an error with ErrSlow in its chain. The caller returns it
// at once, and the read restarts on a long connection.
func RequireLong(q Querier) error {
	switch q := q.(type) {
	case *Tx:
		return q.deadline.requireLong()
	case *singleRead:
		return q.deadline.requireLong()
	}
	return nil
}

// Yield calls do, in which the read q waits for a client and runs no statement. Other reads may use
// its slot during this time.
// Errors: the error of do, or as for ReadLong.
func Yield(ctx context.Context, q Querier, do func() error) error {
	var w *activeSlot
	var sent *bool
	switch q := q.(type) {
	case *Tx:
		w, sent = q.slot, q.sent
	case *singleRead:
		w, sent = q.slot, q.sent
	}
	if sent != nil {
		*sent = true
	}
	if w == nil {
		return do()
	}
	w.release()
	over := w.endIfStalled()
	if err := do(); err != nil { // an error ends the read
		over()
		return err
	}
	if over() {
		return errStalled
	}
	return w.acquire(ctx)
}

// stallTime is how long a read may wait for its client while others are queued.
const stallTime = 3 * time.Second

// errStalled ends a read whose client takes too long to read the answer.
var errStalled = fault.Transientf(context.DeadlineExceeded, "the client took too long to read its answer")

// endIfStalled ends the read when it has waited for its client for stallTime and other reads are
// queued. The caller calls over when the client has read. From then on, the read is not ended
// any more. over returns whether the read was ended before.
func (w *activeSlot) endIfStalled() (over func() bool) {
	stop, ended := make(chan struct{}), make(chan bool, 1)
	timer := time.AfterFunc(w.stall, func() { ended <- w.endFor(stop) })
	return func() bool {
		if timer.Stop() { // the timer has not fired
			return false
		}
		close(stop)
		return <-ended
	}
}

// endFor ends the read as soon as another read is queued. It returns false if stop is closed before
// that.
func (w *activeSlot) endFor(stop <-chan struct{}) bool {
	for {
		if _, waiting := w.all.Load(); waiting > 0 {
			w.end()
			return true
		}
		select {
		case <-stop:
			return false
		case <-time.After(w.stall / 4):
		}
	}
}

// snapshot runs fn in a read-only transaction t of a pool.
func (d *DB) snapshot(ctx context.Context, pool *sql.DB, t *Tx, fn func(*Tx) error) error {
	ctx, fn, end := d.traced(ctx, "read transaction", fn)
	return end(d.readSnapshot(ctx, pool, t, fn))
}

func (d *DB) readSnapshot(ctx context.Context, pool *sql.DB, t *Tx, fn func(*Tx) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer t.deadline.close()
	stx, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return sqlerror.Fault(err)
	}
	defer func() { _ = stx.Rollback() }()
	t.d, t.tx, t.ctx = d, stx, ctx
	t.deadline.begin(ctx)
	if err := t.deadline.outcome(ctx, fn(t)); err != nil {
		return sqlerror.Fault(err)
	}
	return sqlerror.Fault(rolledBack(ctx, stx.Commit()))
}

// quickRead waits until one more quick read may run, and calls do.
func (d *DB) quickRead(ctx context.Context, do func() error) error {
	leave, err := d.reads.quickQueue.Enter(ctx, memberOf(ctx))
	if err != nil {
		return err
	}
	defer leave()
	return do()
}

// longRead waits for a place among the long reads, and calls do. When the context of do ends, the
// place is free at once, even if the read still waits for its client.
func (d *DB) longRead(ctx context.Context, do func(context.Context, *activeSlot) error) error {
	member := memberOf(ctx)
	leave, err := d.reads.longQueue.Enter(ctx, member)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, leave)()
	w := &activeSlot{queue: d.reads.activeQueue, all: d.reads.longQueue, member: member, stall: d.reads.stall, end: cancel}
	if err := w.acquire(ctx); err != nil {
		return err
	}
	defer w.release()
	return do(ctx, w)
}

// activeSlot is the slot in which a long read runs its statements.
type activeSlot struct {
	queue  *admission.Queue
	all    *admission.Queue // queue of all long reads, including those that wait for a client
	member any
	leave  func() // frees the slot; nil if the read has no slot
	stall  time.Duration
	end    func() // ends the read
}

func (w *activeSlot) acquire(ctx context.Context) (err error) {
	w.leave, err = w.queue.Enter(ctx, w.member)
	return err
}

func (w *activeSlot) release() {
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// deadline is the time limit of a quick read; nil means no limit. A server ends a statement at the
// limit by itself, and keeps the connection. On SQLite a context ends the statement.
type deadline struct {
	byContext bool // true on SQLite: ctx ends the statements
	until     time.Time
	ctx       context.Context // context of the statements, if byContext
	cancel    context.CancelFunc
	slow      bool // the read must restart on a long connection
}

func (d *DB) newDeadline() *deadline { return &deadline{byContext: !d.Dialect.mysql} }

// begin starts the time limit.
func (p *deadline) begin(ctx context.Context) {
	if p == nil {
		return
	}
	p.until = time.Now().Add(QuickLimit)
	if p.byContext {
		p.ctx, p.cancel = context.WithDeadline(ctx, p.until)
	}
}

func (p *deadline) close() {
	if p != nil && p.cancel != nil {
		p.cancel()
	}
}

// statement returns the context of the next statement. Errors: ErrSlow when the time is over.
func (p *deadline) statement(ctx context.Context) (context.Context, error) {
	switch {
	case p == nil:
		return ctx, nil
	case time.Now().After(p.until):
		p.slow = true
		return ctx, ErrSlow
	case p.byContext:
		return p.ctx, nil
	}
	return ctx, nil
}

func (p *deadline) requireLong() error {
	if p == nil {
		return nil
	}
	p.slow = true
	return ErrSlow
}

// note records whether err was caused by the time limit, and not by the end of the request's
// context. When MariaDB ends a sub-select, it may first send a row with NULL as the result of the
// sub-select, and the error after this row. Then reading the row fails, which is also caused by the
// time limit.
func (p *deadline) note(ctx context.Context, err error) {
	if p == nil || err == nil || ctx.Err() != nil || time.Now().Before(p.until) {
		return
	}
	p.slow = p.slow || sqlerror.IsTimeLimit(err) || p.byContext && sqlerror.ClassOf(err) == sqlerror.Ended || !p.byContext && fault.KindOf(err) == fault.Internal
}

// outcome returns err, joined with ErrSlow when the read has to restart.
func (p *deadline) outcome(ctx context.Context, err error) error {
	if p == nil || err == nil && !p.slow {
		return err
	}
	p.note(ctx, err)
	if p.slow && !errors.Is(err, ErrSlow) {
		return errors.Join(ErrSlow, err)
	}
	return err
}

// singleRead reads without a transaction.
type singleRead struct {
	pool     *sql.DB
	pinned   bool      // its statements run on one connection
	conn     *sql.Conn // set if pinned, and on SQLite, where the time limit must not include the wait for a connection
	begun    bool
	deadline *deadline
	slot     *activeSlot
	sent     *bool // see Yield; nil if not needed
}

// Query runs a reading statement.
func (a *singleRead) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	run, on, err := a.statement(ctx)
	if err != nil {
		return nil, sqlerror.Fault(err)
	}
	rows, err := on.QueryContext(run, query, args...)
	a.deadline.note(ctx, err)
	return rows, sqlerror.Fault(err)
}

// QueryRow runs a reading statement and returns its first row.
func (a *singleRead) QueryRow(ctx context.Context, query string, args ...any) *Row {
	run, on, err := a.statement(ctx)
	if err != nil {
		return &Row{err: sqlerror.Fault(err)}
	}
	return &Row{row: on.QueryRowContext(run, query, args...)}
}

// queryer is a pool or one of its connections.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// statement returns the context of a statement, and the pool or connection that runs it. The
// time limit starts with the first statement.
func (a *singleRead) statement(ctx context.Context) (context.Context, queryer, error) {
	if !a.begun {
		if a.pinned || a.deadline != nil && a.deadline.byContext {
			var err error
			if a.conn, err = a.pool.Conn(ctx); err != nil {
				return ctx, nil, err
			}
		}
		a.begun = true
		a.deadline.begin(ctx)
	}
	run, err := a.deadline.statement(ctx)
	if a.conn != nil {
		return run, a.conn, err
	}
	return run, a.pool, err
}

// close ends the read and returns its error.
func (a *singleRead) close(ctx context.Context, err error) error {
	err = a.deadline.outcome(ctx, err)
	a.deadline.close()
	if a.conn != nil {
		_ = a.conn.Close()
	}
	return sqlerror.Fault(err)
}
