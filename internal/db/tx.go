package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// Tx is one transaction. It belongs to the function it was handed to and to
// one goroutine.
type Tx struct {
	d      *DB
	tx     *sql.Tx
	ctx    context.Context // ends with the transaction's time limit; see run
	until  time.Time       // the time limit; zero for none
	doomed error           // the server has rolled everything back; nothing more may run
	points int             // savepoints open
	pace   *pace           // of a quick read; nil else
	work   *work           // of a long read; nil else
}

// rolledBack is err, or why a transaction is over that nobody ended: when its
// context ends it is rolled back at once, and a statement only hears that it has
// been, or that its rows are closed.
func rolledBack(ctx context.Context, err error) error {
	if (errors.Is(err, sql.ErrTxDone) || isClosed(err)) && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// isClosed reports whether rows were closed under who reads them, an error that
// database/sql has no name for.
func isClosed(err error) bool { return err != nil && err.Error() == "sql: Rows are closed" }

func (t *Tx) dialect() *Dialect { return t.d.Dialect }

// Dialect returns what this server does differently.
func (t *Tx) Dialect() *Dialect { return t.d.Dialect }

// run picks the context of a statement: the caller's where it ends earlier, else
// the transaction's, so that no statement outlives the time limit.
func (t *Tx) run(ctx context.Context) context.Context {
	if until, ok := ctx.Deadline(); ok && (t.until.IsZero() || until.Before(t.until)) {
		return ctx
	}
	return t.ctx
}

// seen gives err its kind and remembers when it ended the transaction: a server
// that met a deadlock has rolled back, and would run what follows on its own.
func (t *Tx) seen(err error) error {
	if err == nil {
		return nil
	}
	t.pace.seen(t.ctx, err)
	err = rolledBack(t.ctx, err)
	kinded := Fault(err)
	switch classOf(err) {
	case again, lost, away, ended, full:
		if t.doomed == nil {
			t.doomed = kinded
		}
	}
	return kinded
}

// Query runs a reading statement. On MySQL its rows must be closed before the
// next statement.
func (t *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t.doomed != nil {
		return nil, t.doomed
	}
	run, err := t.pace.statement(t.run(ctx))
	if err != nil {
		return nil, err
	}
	rows, err := t.tx.QueryContext(run, query, args...)
	return rows, t.seen(err)
}

// QueryRow runs a reading statement whose first row is scanned.
func (t *Tx) QueryRow(ctx context.Context, query string, args ...any) *Row {
	if t.doomed != nil {
		return &Row{err: t.doomed}
	}
	run, err := t.pace.statement(t.run(ctx))
	if err != nil {
		return &Row{err: err}
	}
	return &Row{row: t.tx.QueryRowContext(run, query, args...), tx: t}
}

// Exec runs a writing statement. Errors: fault.Conflict on a duplicate key; the
// transaction goes on after it. After fault.Transient it does not: every later
// statement answers the same error.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.doomed != nil {
		return nil, t.doomed
	}
	r, err := t.tx.ExecContext(t.run(ctx), query, args...)
	return r, t.seen(err)
}

// Savepoint runs fn and undoes what it wrote when it fails; its error comes back.
func (t *Tx) Savepoint(ctx context.Context, fn func() error) error {
	t.points++
	name := fmt.Sprintf("p%d", t.points)
	defer func() { t.points-- }()
	if _, err := t.Exec(ctx, "SAVEPOINT "+name); err != nil {
		return err
	}
	err := fn()
	if err != nil {
		if _, undo := t.Exec(ctx, "ROLLBACK TO SAVEPOINT "+name); undo != nil {
			return undo
		}
	}
	if _, release := t.Exec(ctx, "RELEASE SAVEPOINT "+name); release != nil {
		return release
	}
	return err
}

// Gorm returns a gorm handle inside the transaction, for plain tables.
func (t *Tx) Gorm() *gorm.DB {
	return gormOn(t.ctx, t.d.gorm, &txPool{t: t})
}
