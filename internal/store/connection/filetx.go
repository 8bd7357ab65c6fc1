package connection

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// The statements that begin and end write transactions and savepoints. They are prepared although
// they have no arguments.
const (
	beginWrite       = "BEGIN IMMEDIATE"
	commitWrite      = "COMMIT"
	undoWrite        = "ROLLBACK"
	beginSavepoint   = "SAVEPOINT shared"
	releaseSavepoint = "RELEASE SAVEPOINT shared"
	undoSavepoint    = "ROLLBACK TO SAVEPOINT shared"
)

var repeated = map[string]bool{
	beginWrite: true, commitWrite: true, undoWrite: true, beginSavepoint: true, releaseSavepoint: true, undoSavepoint: true,
}

// FileTx is an open write transaction of a SQLite file. It stays open when a context ends.
type FileTx struct {
	Conn      *sql.Conn // for the statements of the transaction
	Interrupt func()    // stops the running statement, from any goroutine; nil if the driver cannot do this

	active func() bool
}

// BeginFile begins a write transaction on the connection of writer, a pool from File.Writes.
func BeginFile(ctx context.Context, writer *sql.DB) (*FileTx, error) {
	c, err := writer.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &FileTx{Conn: c, active: func() bool { return true }}
	err = c.Raw(func(c any) error {
		if active := c.(*conn).active; active != nil {
			t.active = active
		}
		t.Interrupt = c.(*conn).interrupt
		return nil
	})
	if err == nil {
		_, err = c.ExecContext(ctx, beginWrite)
	}
	if err != nil { // the transaction may have begun nevertheless
		t.Rollback()
		return nil, err
	}
	return t, nil
}

// IsActive reports whether the transaction is open. SQLite rolls it back after some errors.
func (t *FileTx) IsActive() bool { return t.active() }

// Commit commits the transaction. Close or Rollback must follow.
func (t *FileTx) Commit() error { return t.exec(commitWrite) }

// Close returns the connection to the pool after a successful Commit.
func (t *FileTx) Close() { _ = t.Conn.Close() }

// Rollback rolls the transaction back and returns the connection to the pool. If the rollback
// fails, it closes the connection.
func (t *FileTx) Rollback() {
	if t.active() {
		_ = t.exec(undoWrite)
		if t.active() {
			_ = t.Conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}
	_ = t.Conn.Close()
}

// Savepoint opens the savepoint of the transaction.
func (t *FileTx) Savepoint() error { return t.exec(beginSavepoint) }

// ReleaseSavepoint closes the savepoint.
func (t *FileTx) ReleaseSavepoint() error { return t.exec(releaseSavepoint) }

// UndoSavepoint rolls back the writes since the savepoint. The savepoint stays open.
func (t *FileTx) UndoSavepoint() error { return t.exec(undoSavepoint) }

// exec runs a statement that ends the transaction, or a statement for the savepoint. The end of a
// context does not stop it.
func (t *FileTx) exec(statement string) error {
	_, err := t.Conn.ExecContext(context.Background(), statement)
	return err
}
