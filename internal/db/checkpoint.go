package db

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"
)

const (
	// checkpointFrom is how many pages the log of a SQLite database has when they are
	// copied into its file. Those that many commits write, such as the ends of keys,
	// are copied once; and a reader looks a page up in one part of the log's index.
	checkpointFrom = 4000

	// checkpointMost is when the writer does so itself: what happens beside it has come
	// to nothing.
	checkpointMost = 4 * checkpointFrom

	// logKept is the most bytes that the file of the log keeps once it begins anew:
	// while a long read lasts it cannot.
	logKept = checkpointMost * 4096

	// checkpointWait is how long readers of a long log are waited for, in ms; writers
	// wait meanwhile.
	checkpointWait = "busy_timeout(50)"

	// checkpointLook is the pause between two looks at the log.
	checkpointLook = 20 * time.Millisecond
)

// checkpoints copies what is committed from the log of a SQLite database into its
// file, beside the writer, which would do so within a commit while others wait for it.
type checkpoints struct {
	pool      *sql.DB // of one connection
	committed chan struct{}
	from      int // checkpointFrom, less in tests
	last      int // pages of the log at the last look
	next      int // those at which the next copy is due

	ctx  context.Context // ends when the database is closed
	end  context.CancelFunc
	done chan struct{} // closed when run has returned
}

func (d *DB) startCheckpoints(path string) error {
	pool, err := sqlitePool(path, "deferred", connection(checkpointWait, readerCache), 1)
	if err != nil {
		return err
	}
	c := &checkpoints{pool: pool, committed: make(chan struct{}, 1), from: checkpointFrom, next: checkpointFrom, done: make(chan struct{})}
	c.ctx, c.end = context.WithCancel(context.Background())
	d.checkpoints = c
	go c.run(d.turns, d)
	return nil
}

// wake is called after a commit.
func (c *checkpoints) wake() {
	if c == nil {
		return
	}
	select {
	case c.committed <- struct{}{}:
	default:
	}
}

// close waits for a copy that is under way.
func (c *checkpoints) close() error {
	if c == nil {
		return nil
	}
	c.end()
	<-c.done
	return c.pool.Close()
}

// run looks at the log after commits until the database is closed.
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

// look copies the log where it is long enough: most of it beside the writer, and what
// was written meanwhile in a turn of its own. When all of it is copied the next write
// begins it anew.
func (c *checkpoints) look(w *turns, d *DB) error {
	length, _, err := c.checkpoint("NOOP")
	if length < c.last { // it has begun anew
		c.next = c.from
	}
	if c.last = length; err != nil || length < c.next {
		return err
	}
	c.next = length + c.from/4 // unless all of it is copied
	if _, _, err := c.checkpoint("PASSIVE"); err != nil {
		return err
	}
	if err := w.take(c.ctx); err != nil {
		return err
	}
	defer w.leave(d, true)
	if w.open != nil {
		w.commit(d)
	}
	mode := "PASSIVE"
	if length > checkpointMost/checkpointFrom*c.from {
		mode = "RESTART" // which waits for readers
	}
	length, copied, err := c.checkpoint(mode)
	if err == nil && copied == length {
		c.next = c.from
	}
	return err
}

// checkpoint runs a checkpoint and returns the pages of the log and how many of them
// are copied. Readers of older versions leave some, which is no error.
func (c *checkpoints) checkpoint(mode string) (length, copied int, err error) {
	var busy int
	err = c.pool.QueryRowContext(context.WithoutCancel(c.ctx), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &length, &copied)
	if err != nil {
		return 0, 0, fmt.Errorf("checkpoint: %w", err)
	}
	return length, copied, nil
}
