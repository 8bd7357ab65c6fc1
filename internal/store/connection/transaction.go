package connection

import (
	"context"
	"database/sql/driver"
)

// startTransaction begins a write transaction on a server.
const startTransaction = "START TRANSACTION"

// BeginTx starts a transaction. On a server, the statement that begins a write transaction is sent
// together with the first statement of the transaction. A read-only transaction of SQLite never
// waits, so it gets no context.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.interrupt != nil && opts.ReadOnly {
		ctx = context.Background()
	}
	if c.writes && !c.singly && !opts.ReadOnly {
		if !c.IsValid() {
			return nil, driver.ErrBadConn
		}
		c.begins = true
		return serverTx{begunTx{c}, c}, nil
	}
	opts.ReadOnly = opts.ReadOnly && (c.tidb == nil || !c.tidb.Load()) // a TiDB may refuse READ ONLY, depending on a setting
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	if err != nil || c.killer == nil {
		c.note(ctx, err)
		return tx, err
	}
	if c.keeper != nil {
		c.opened()
	}
	return serverTx{tx, c}, nil
}

// begunTx is a write transaction that begins at the server together with its first statement.
type begunTx struct{ c *conn }

// Commit commits the transaction if it had a statement.
func (t begunTx) Commit() error { return t.end("COMMIT") }

// Rollback rolls the transaction back.
func (t begunTx) Rollback() error { return t.end("ROLLBACK") }

func (t begunTx) end(statement string) error {
	if t.c.begins {
		t.c.begins = false
		return nil
	}
	_, err := t.c.execText(context.Background(), statement+t.c.kept.over, nil)
	return err
}

// serverTx is a transaction of a server. If a commit or rollback fails, the transaction may still
// be open, and the next transaction on the connection would commit it. So the connection is not
// used again.
type serverTx struct {
	driver.Tx
	c *conn
}

// Commit commits the transaction. Errors: driver.ErrBadConn if the server has already ended the
// transaction.
func (t serverTx) Commit() error { return t.end(true, t.Tx.Commit) }

// Rollback rolls the transaction back.
func (t serverTx) Rollback() error { return t.end(false, t.Tx.Rollback) }

func (t serverTx) end(commit bool, end func() error) error {
	var err error
	if t.c.keeper != nil {
		err = t.c.closing(commit)
	}
	if err == nil {
		err = end()
	}
	t.c.unfit = t.c.unfit || err != nil
	return err
}
