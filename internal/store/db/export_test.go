package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/alds-dev/alds/internal/store/engine"
)

// TakeTurn takes the turn to write and returns a function that ends it.
func (d *DB) TakeTurn(ctx context.Context) (end func(), err error) {
	err = d.turns.Take(ctx, memberOf(ctx))
	return func() { d.turns.leave(d, false) }, err
}

// Waiting returns the number of writes that wait for their turn.
func (d *DB) Waiting() int { return d.turns.Waiting() }

// AllPools returns every pool of a handle on a server.
func (d *DB) AllPools() []*sql.DB {
	return d.server.Pools()
}

// ShortLog changes the length from which the log of a SQLite database is copied to this number of
// pages. It reduces the other limits of the log in proportion. It must be called before the first
// write.
func (d *DB) ShortLog(pages int) error {
	d.checkpoints.from, d.checkpoints.next = pages, pages
	most := checkpointMost / checkpointFrom * pages
	for _, pragma := range []string{fmt.Sprintf("PRAGMA wal_autocheckpoint(%d)", most), fmt.Sprintf("PRAGMA journal_size_limit(%d)", most*4096)} {
		if _, err := d.writer.ExecContext(context.Background(), pragma); err != nil {
			return err
		}
	}
	return nil
}

// LookEvery sets the period of the checks of replicas. It must be called before
// WatchReplicas.
func (d *DB) LookEvery(every time.Duration) { d.replicas.every = every }

// ForgetBehind lets reads of all members use the replicas again, as happens after behindFor.
func (d *DB) ForgetBehind() {
	d.replicas.mu.Lock()
	defer d.replicas.mu.Unlock()
	clear(d.replicas.behind)
}

// Reading returns the numbers of running and waiting quick reads, and of running and waiting long
// reads.
func (d *DB) Reading() (quick, waiting, long, waitingLong int) {
	quick, waiting = d.reads.quickQueue.Load()
	long, waitingLong = d.reads.longQueue.Load()
	return quick, waiting, long, waitingLong
}

// LimitTurnReads sets the time limit for the queries of a write.
func (d *DB) LimitTurnReads(limit time.Duration) {
	if d.lockedReads = limit; d.turns != nil {
		d.turns.reads = limit
	}
}

// ErrStalled is the error of a read whose client takes too long.
var ErrStalled = errStalled

// EndStalledReadersAtOnce ends a read that waits for its client as soon as another read is queued.
func (d *DB) EndStalledReadersAtOnce() { d.reads.stall = time.Millisecond }

// KeepStalledReaders lets reads wait for their clients as long as they want.
func (d *DB) KeepStalledReaders() { d.reads.stall = time.Hour }

// SetEngine sets the variables from which the handle derives the kind of its server; nil: unknown.
func (d *DB) SetEngine(variables map[string]string) {
	if variables == nil {
		d.engine.Store(nil)
		return
	}
	d.engine.Store(engine.Of(variables))
}

// AwaitKept waits until the keeper has sent n statements since the handle was opened.
func (d *DB) AwaitKept(ctx context.Context, n int64) error {
	return d.awaitKeeper(ctx, func() bool { return d.server.Counts().Kept >= n })
}

// AwaitLost waits until the keeper has detected that a transaction is gone.
func (d *DB) AwaitLost(ctx context.Context) error {
	return d.awaitKeeper(ctx, func() bool { return d.server.Counts().Lost > 0 })
}

func (d *DB) awaitKeeper(ctx context.Context, done func() bool) error {
	if d.server == nil {
		return nil
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// KillNow ends a connection at the server.
func (d *DB) KillNow(ctx context.Context, id int64) error {
	_, err := d.small.ExecContext(ctx, fmt.Sprintf("KILL %d", id))
	return err
}
