package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
)

// openRows is the rows of a running statement. They end with the context of the
// statement, also while the next row is computed, which the SQLite driver does not
// do by itself.
type openRows struct {
	driver.Rows
	ctx  context.Context
	c    *conn
	s    *cached // nil for a statement that went out as text
	stop func() bool

	mu     sync.Mutex // held while the statement is stopped
	closed bool
}

func newOpenRows(ctx context.Context, c *conn, rows driver.Rows, s *cached) *openRows {
	r := &openRows{Rows: rows, ctx: ctx, c: c, s: s}
	if c.interrupt != nil && ctx.Done() != nil {
		r.stop = context.AfterFunc(ctx, r.interrupt)
	}
	return r
}

func (r *openRows) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.c.interrupt()
	}
}

// Next reads the next row.
func (r *openRows) Next(row []driver.Value) error {
	err := r.Rows.Next(row)
	if err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		r.c.noteAbandoned(r.ctx, err)
		if ctxErr := r.ctx.Err(); ctxErr != nil && r.c.interrupt != nil {
			return errors.Join(ctxErr, err)
		}
	}
	return err
}

// Close closes the rows and releases their statement. Where the context has ended,
// the server may still be computing rows.
func (r *openRows) Close() error {
	if r.stop != nil {
		r.stop()
	}
	r.mu.Lock()
	already := r.closed
	r.closed = true
	r.mu.Unlock()
	if r.ctx.Err() != nil {
		r.c.abandoned = true
	}
	err := r.Rows.Close()
	if r.s != nil && !already {
		r.c.release(r.s)
	}
	return err
}
