package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/alds-dev/alds/internal/store/connection"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Tx is one transaction. Only the function that received it may use it, from one goroutine.
type Tx struct {
	d        *DB
	tx       statements
	ctx      context.Context // ends with the transaction's time limit; see run
	until    time.Time       // the time limit; zero for none
	aborted  error           // set when the server has rolled back; every later statement returns it
	points   int             // number of open savepoints
	deadline *deadline       // of a quick read; else nil
	slot     *activeSlot     // of a long read; else nil
	sent     *bool           // set when something was sent to a client, see Yield; nil if not needed
	changes  int64           // number of rows written
	ran      int             // number of statements
	shared   *shared         // the transaction, shared with other writes; nil on a server, and for reads
	late     time.Time       // after this time earlier writes have waited too long for this one; zero if none wait
	undo     []func()        // see OnUndo
	waiting  []Statement     // see Later
	waits    int             // approximate size of waiting, in bytes
	readFor  time.Duration   // see ReadInTurn
	locks    bool            // true if a statement other than a query was sent, so that rows may be locked
	missed   bool            // see Missed
}

// OnUndo registers fn to run if what the transaction has written so far is rolled back: with the
// whole transaction, to a savepoint, or together with other writes. fn runs before another write
// begins in this process. It also runs if the outcome of the commit is not known.
func (t *Tx) OnUndo(fn func()) { t.undo = append(t.undo, fn) }

// undone runs the OnUndo functions except the first n, in the order of their registration.
func (t *Tx) undone(n int) {
	for _, fn := range t.undo[n:] {
		fn()
	}
	t.undo = t.undo[:n]
}

// statements runs the statements of a transaction. It is a *sql.Tx, or on SQLite the write
// connection.
type statements = gorm.ConnPool

// rolledBack adds the cause to the error of a transaction whose context has ended.
// database/sql rolls back at once, and only reports that the transaction is done or that the
// rows are closed.
func rolledBack(ctx context.Context, err error) error {
	if (errors.Is(err, sql.ErrTxDone) || isClosed(err)) && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// isClosed reports whether rows were closed while they were read. database/sql has no
// variable for this error.
func isClosed(err error) bool { return err != nil && err.Error() == "sql: Rows are closed" }

func (t *Tx) dialect() *Dialect { return t.d.Dialect }

// Dialect returns how this server differs from others.
func (t *Tx) Dialect() *Dialect { return t.d.Dialect }

// contextOf returns the context of a statement: the context of the caller if it ends earlier, else
// the context of the transaction.
func (t *Tx) contextOf(ctx context.Context) context.Context {
	if until, ok := ctx.Deadline(); !ok || !t.until.IsZero() && !until.Before(t.until) {
		ctx = t.ctx
	}
	if t.shared != nil {
		return connection.Unwatched(ctx)
	}
	return ctx
}

// classify gives err its kind. After an error that made the server roll back, it aborts the
// transaction, because the server would run later statements outside of it.
func (t *Tx) classify(err error) error {
	if err == nil {
		return nil
	}
	t.deadline.note(t.ctx, err)
	err = rolledBack(t.ctx, err)
	kinded := sqlerror.Fault(err)
	switch sqlerror.ClassOf(err) {
	case sqlerror.Retryable, sqlerror.Lost, sqlerror.Away, sqlerror.Unavailable, sqlerror.Unanswered, sqlerror.Undecided,
		sqlerror.Ended, sqlerror.Full, sqlerror.TooLarge:
		if t.aborted == nil {
			t.aborted = kinded
		}
	}
	if t.shared != nil && t.aborted == nil && !t.shared.IsActive() {
		t.aborted = kinded
	}
	return kinded
}

// mayGoOn returns an error that says why no further statement may run, or nil. Errors: errLate if
// earlier writes have waited too long for this one; on SQLite also the error of the transaction's
// context.
func (t *Tx) mayGoOn() error {
	if t.aborted == nil && t.shared != nil && t.ctx.Err() != nil {
		t.aborted = sqlerror.Fault(t.ctx.Err())
	}
	if t.aborted == nil && !t.late.IsZero() && time.Now().After(t.late) {
		t.aborted = errLate
	}
	return t.aborted
}

// Query runs a reading statement. On MySQL its rows must be closed before the next statement.
// Errors: also the error of a waiting statement that was sent together with the query; see Later.
func (t *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	run, s, err := t.reading(ctx, Statement{query, args})
	if err != nil {
		return nil, err
	}
	rows, err := t.tx.QueryContext(run, s.Query, s.Args...)
	return rows, t.classify(err)
}

// QueryRow runs a reading statement; Row.Scan copies its first row.
func (t *Tx) QueryRow(ctx context.Context, query string, args ...any) *Row {
	run, s, err := t.reading(ctx, Statement{query, args})
	if err != nil {
		return &Row{err: err}
	}
	return &Row{row: t.tx.QueryRowContext(run, s.Query, s.Args...), tx: t}
}

// Exec runs a writing statement. Errors: fault.Conflict on a duplicate key; the transaction
// can continue. After fault.Transient it cannot: every later statement returns the same
// error.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r, err := t.exec(ctx, query, args...)
	if err == nil {
		n, _ := r.RowsAffected()
		t.changes += n
	}
	return r, err
}

func (t *Tx) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.mayGoOn(); err != nil {
		return nil, err
	}
	t.ran++
	t.locks = true
	return t.send(ctx, Statement{query, args})
}

// LockCount is the column that Lock changes; it counts the locks of the row.
const LockCount = "lock_count"

// Lock locks rows of a table until the transaction ends. It writes the rows, because a lock without
// a write would apply to only one server of a cluster. If another transaction locks or writes one
// of the rows, that transaction waits. If it runs on another server, only one of the two commits.
// Lock returns the number of rows. If Dialect.IsAlone is true, it returns 1 and runs no statement.
func (t *Tx) Lock(ctx context.Context, table, where string, args ...any) (rows int64, err error) {
	if t.dialect().IsAlone {
		return 1, nil
	}
	r, err := t.exec(ctx, t.lock(table, where), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// LockLater is like Lock, but does not return the number of rows. Its statement is sent together
// with the next statement, which then reads locked rows.
func (t *Tx) LockLater(ctx context.Context, table, where string, args ...any) error {
	if t.dialect().IsAlone {
		return nil
	}
	_, err := t.Later().Exec(ctx, t.lock(table, where), args...)
	return err
}

func (t *Tx) lock(table, where string) string {
	return "UPDATE " + t.dialect().Quote(table) + " SET " + LockCount + " = " + LockCount + " + 1 WHERE " + where
}

// Savepoint runs fn, and rolls back the writes of fn if fn fails.
// Errors: the error of fn.
func (t *Tx) Savepoint(ctx context.Context, fn func() error) error {
	t.points++
	name := fmt.Sprintf("p%d", t.points)
	defer func() { t.points-- }()
	if err := t.flush(ctx); err != nil {
		return err
	}
	if _, err := t.Later().Exec(ctx, "SAVEPOINT "+name); err != nil {
		return err
	}
	before := len(t.undo)
	err := fn()
	if err == nil {
		err = t.flush(ctx) // so that errors of waiting statements belong to this savepoint
	}
	if err != nil {
		begun := len(t.waiting) == 0 || t.waiting[0].Query != "SAVEPOINT "+name
		t.waiting, t.waits = nil, 0
		t.undone(before)
		if !begun {
			return err
		}
		if _, undo := t.exec(ctx, "ROLLBACK TO SAVEPOINT "+name); undo != nil {
			return undo
		}
	}
	if _, release := t.Later().Exec(ctx, "RELEASE SAVEPOINT "+name); release != nil {
		return release
	}
	return err
}

// Gorm returns a gorm handle inside the transaction, for plain tables.
func (t *Tx) Gorm() *gorm.DB {
	return gormOn(t.ctx, t.d.gorm, &txPool{t: t})
}
