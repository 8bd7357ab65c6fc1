package db

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/alds-dev/alds/internal/store/connection"
)

const (
	// checkpointFrom is the length of the write-ahead log, in pages, from which the log is copied
	// into the file of a SQLite database. Many commits write the same page, such as the last page
	// of an index. With a long log such a page is copied only once. With a short log, readers find
	// pages faster.
	checkpointFrom = 4000

	// checkpointMost is the length, in pages, at which the writer copies the log itself. It
	// is a fallback in case the copying in parallel with the writer has failed.
	checkpointMost = 4 * checkpointFrom

	// logKept is the maximum size, in bytes, of the log file after SQLite has started the log again
	// from its beginning. SQLite cannot do this during a long read.
	logKept = checkpointMost * 4096

	// checkpointLook is the pause between two checks of the log.
	checkpointLook = 20 * time.Millisecond
)

// checkpoints copies committed pages from the log of a SQLite database into its file, in
// parallel with the writer. Otherwise the writer would copy them within a commit, while other
// writes wait.
type checkpoints struct {
	pool      *sql.DB // of one connection
	committed chan struct{}
	from      int // checkpointFrom, less in tests
	last      int // length of the log at the last check, in pages
	next      int // length of the log at which the next copy is due, in pages

	ctx  context.Context // ends when the database is closed
	end  context.CancelFunc
	done chan struct{} // closed when run has returned
}

func (d *DB) startCheckpoints(file *connection.File) error {
	pool, err := file.Checkpoints()
	if err != nil {
		return err
	}
	c := &checkpoints{pool: pool, committed: make(chan struct{}, 1), from: checkpointFrom, next: checkpointFrom, done: make(chan struct{})}
	c.ctx, c.end = context.WithCancel(context.Background())
	d.checkpoints = c
	go c.run(d.turns, d)
	return nil
}

// wake makes run check the log. It is called after each commit.
func (c *checkpoints) wake() {
	if c == nil {
		return
	}
	select {
	case c.committed <- struct{}{}:
	default:
	}
}

// close waits until a running copy has finished.
func (c *checkpoints) close() error {
	if c == nil {
		return nil
	}
	c.end()
	<-c.done
	return c.pool.Close()
}

// run checks the log after commits until the database is closed.
func (c *checkpoints) run(w *turns, d *DB) {
	defer close(c.done)
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.committed:
		}
		if err := c.look(w, d); err != nil && c.ctx.Err() == nil {
			d.log.LogAttrs(c.ctx, slog.LevelWarn, "the log of the database was not copied into its file", slog.Any("err", err))
		}
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(checkpointLook):
		}
	}
}

// look copies the log if it is long enough. It copies most pages in parallel with the writer. Then
// it takes a turn of the writes, so that nothing is written, and copies the remaining pages. If all
// pages are copied, the next write starts the log again from its beginning.
func (c *checkpoints) look(w *turns, d *DB) error {
	length, _, err := c.checkpoint("NOOP")
	if length < c.last { // the log has started again from its beginning
		c.next = c.from
	}
	if c.last = length; err != nil || length < c.next {
		return err
	}
	c.next = length + c.from/4 // replaced below if all pages are copied
	if _, _, err := c.checkpoint("PASSIVE"); err != nil {
		return err
	}
	if err := w.Take(c.ctx, nil); err != nil {
		return err
	}
	defer w.leave(d, true)
	if w.open != nil {
		w.commit(d)
	}
	mode := "PASSIVE"
	if length > checkpointMost/checkpointFrom*c.from {
		mode = "RESTART" // RESTART waits for readers
	}
	length, copied, err := c.checkpoint(mode)
	if err == nil && copied == length {
		c.next = c.from
	}
	return err
}

// checkpoint runs a checkpoint. It returns the pages of the log and how many of them are copied.
// Pages whose older version is still read are not copied; this is not an error.
func (c *checkpoints) checkpoint(mode string) (length, copied int, err error) {
	var busy int
	err = c.pool.QueryRowContext(context.WithoutCancel(c.ctx), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &length, &copied)
	if err != nil {
		return 0, 0, fmt.Errorf("checkpoint: %w", err)
	}
	return length, copied, nil
}
