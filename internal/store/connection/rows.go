package connection

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync/atomic"
)

// openRows are the rows of a running statement. Reading them ends with the context of the
// statement, also while the next row is computed. The SQLite driver by itself would compute that
// row to its end.
type openRows struct {
	driver.Rows
	ctx   context.Context
	c     *conn
	s     *cached // nil for a statement that was sent as text
	watch *watch  // nil for a server

	closed atomic.Bool
}

// Next reads the next row.
func (r *openRows) Next(row []driver.Value) error {
	err := r.Rows.Next(row)
	if err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		r.c.note(r.ctx, err)
		if ctxErr := r.ctx.Err(); ctxErr != nil && r.watch != nil {
			return errors.Join(ctxErr, err)
		}
	}
	return err
}

// Close closes the rows and releases their statement. If the context has ended, the server
// may still be computing rows.
func (r *openRows) Close() error {
	if r.watch != nil {
		r.watch.end()
	}
	if r.ctx.Err() != nil {
		r.c.abandoned = true
	}
	err := r.Rows.Close()
	if r.closed.Swap(true) {
		return err
	}
	if r.s != nil {
		r.c.release(r.s)
	}
	r.c.leave()
	return err
}
