package feed

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// slice is the maximum number of writes that get positions in one transaction.
const slice = 1000

// Log assigns positions to committed writes. It polls for new writes while a request waits. It is
// safe for concurrent use.
type Log struct {
	db  *db.DB
	log *slog.Logger

	turn chan struct{} // contains one element while this process assigns positions

	mu      sync.Mutex
	waiting int           // number of calls in Wait
	polling bool          // true: the poller runs
	head    int64         // the last position that the poller has read
	moved   chan struct{} // closed when head changes
	poke    chan struct{} // holds at most one signal: this process has committed a write
}

// NewLog returns the log of a process.
func NewLog(d *db.DB, log *slog.Logger) *Log {
	return &Log{db: d, log: log, turn: make(chan struct{}, 1), moved: make(chan struct{}), poke: make(chan struct{}, 1)}
}

// Advance assigns positions to all committed writes, and returns the last position. It commits one
// slice of writes at a time, because many writes have no position before the very first call. If
// ctx ends, the slices that are already committed keep their positions.
func (l *Log) Advance(ctx context.Context) (head int64, err error) {
	head, more, err := l.look(ctx)
	if err != nil || !more {
		return head, err
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, sqlerror.Fault(ctx.Err())
	}
	defer func() { <-l.turn }()
	for more {
		if head, more, err = l.advance(ctx); err != nil {
			return 0, fmt.Errorf("assign positions to writes: %w", err)
		}
	}
	return head, nil
}

// AdvanceSome assigns positions to at most one slice of writes. It reports whether there may be
// more writes without a position.
func (l *Log) AdvanceSome(ctx context.Context) (more bool, err error) {
	if _, more, err = l.look(ctx); err == nil && more {
		_, more, err = l.advance(ctx)
	}
	return more, err
}

// look returns the last position, and whether there are writes that have no position.
func (l *Log) look(ctx context.Context) (head int64, more bool, err error) {
	err = l.db.One(ctx, func(q db.Querier) error {
		return q.QueryRow(ctx, `SELECT value, EXISTS (SELECT 1 FROM audit WHERE feed IS NULL AND last_moment > 0) FROM sequence WHERE name = 'feed'`).Scan(&head, &more)
	})
	return head, more, err
}

// waits is a write that has no position yet. last is its last moment.
type waits struct{ id, last int64 }

// advance assigns positions to one slice of writes. A position is the last moment of the write plus
// a shift, which is the same for the whole slice. With the shift, the new positions are greater
// than all earlier positions.
func (l *Log) advance(ctx context.Context) (head int64, more bool, err error) {
	err = l.db.Small(ctx, func(tx *db.Tx) error {
		err := tx.QueryRow(ctx, `SELECT value FROM sequence WHERE name = 'feed'`+tx.Dialect().ForUpdate).Scan(&head)
		if err != nil {
			return err
		}
		// This statement runs after the lock was acquired, so it sees every position that was
		// assigned before.
		all, err := db.Collect(ctx, tx, `SELECT id, last_moment FROM audit WHERE feed IS NULL AND last_moment > 0 ORDER BY last_moment LIMIT ?`, []any{slice},
			func(row db.Scanner) (w waits, err error) { return w, row.Scan(&w.id, &w.last) })
		if more = len(all) == slice; err != nil || len(all) == 0 {
			return err
		}
		shift := max(0, head+1-all[0].last)
		ids := make([]int64, len(all))
		for i, w := range all {
			ids[i] = w.id
		}
		for in, args := range db.InChunks(ids) {
			if _, err := tx.Exec(ctx, `UPDATE audit SET feed = last_moment + ? WHERE id IN `+in, append([]any{shift}, args...)...); err != nil {
				return err
			}
		}
		head = all[len(all)-1].last + shift
		_, err = tx.Exec(ctx, `UPDATE sequence SET value = ? WHERE name = 'feed'`, head)
		return err
	})
	if err != nil && fault.KindOf(err) == fault.NotFound {
		err = fmt.Errorf("the sequence of positions is missing: %w", err)
	}
	return head, more, err
}
