package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// ErrUnknownOutcome is in the chain of an error of Write when the connection was lost after COMMIT
// was sent, or the server failed while it committed. The transaction may be committed or not. The
// kind of the error is fault.Transient. Before a retry the caller must check whether its write
// exists, by the request id of its audit.
var ErrUnknownOutcome = errors.New("the connection was lost during the commit, or the server failed during the commit")

// maxAttempts is the maximum number of times that Write runs its function.
const maxAttempts = 5

// firstBackoff is the mean pause before the second attempt; it doubles with each attempt.
const firstBackoff = 8 * time.Millisecond

// Write runs fn in one write transaction and commits it.
//
// fn runs again, after a pause, when the server refuses to write. It also runs again after a
// deadlock, a lock wait timeout, a write conflict with another server, or a connection lost before
// COMMIT was sent. After five attempts the error is fault.Transient. If the connection is lost or
// the server fails during the commit, the error has ErrUnknownOutcome in its chain, and fn does not
// run again. On a node of a cluster fn also runs again, once, after Missed.
//
// On SQLite only one write runs at a time; the time limit does not include the wait for other
// writes. Writes that wait share a transaction and its commit. Each has a savepoint, so its
// rollback does not affect the others. If the commit fails, all of them fail. If one write makes
// SQLite roll the whole transaction back, the others run again. A write that takes long runs again
// in a transaction of its own.
//
// Errors: also the error of the guard in the context (WithGuard).
func (d *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return d.write(ctx, d.writer, guarded(ctx, fn))
}

// Small runs fn like Write, on a few separate connections. It is for a short transaction that must
// not wait for the connections of Write. If Dialect.SmallInside is false, a call within Write
// blocks until the context ends.
func (d *DB) Small(ctx context.Context, fn func(*Tx) error) error {
	return d.write(ctx, d.small, fn)
}

func (d *DB) write(ctx context.Context, pool *sql.DB, fn func(*Tx) error) error {
	ctx, fn, end := d.traced(ctx, "write transaction", fn)
	return end(d.repeat(ctx, pool, fn))
}

// repeat runs fn until it is committed or must not run again.
func (d *DB) repeat(ctx context.Context, pool *sql.DB, fn func(*Tx) error) error {
	backoff, alone, current := firstBackoff, false, false
	for n := 1; ; n++ {
		var err error
		var mayRepeat bool
		if d.turns != nil {
			err, mayRepeat = d.share(ctx, fn, alone)
		} else {
			err, mayRepeat = d.attempt(ctx, pool, fn, current)
		}
		if err == nil {
			return nil
		}
		if !alone && errors.Is(err, errShared) {
			alone = true
			continue
		}
		if errors.Is(err, errMissed) {
			current = true
			continue
		}
		if sqlerror.ClassOf(err) == sqlerror.Full {
			d.noRoom.Add(1)
		}
		if !mayRepeat || n >= maxAttempts || ctx.Err() != nil {
			return sqlerror.Fault(err)
		}
		d.log.Debug("the write transaction failed; trying again", "attempt", n, "err", err)
		if !pause(ctx, &backoff) {
			return sqlerror.Fault(err)
		}
	}
}

// pause waits before another attempt, each time about twice as long. It returns false if the
// context has ended.
func pause(ctx context.Context, backoff *time.Duration) bool {
	mean := *backoff
	*backoff *= 2
	select {
	case <-ctx.Done():
		return false
	case <-time.After(mean/2 + rand.N(mean)):
		return true
	}
}

// attempt runs fn once on a server, and reports whether it may run again after err. If current
// is true, the node first catches up with its cluster. Errors: also errMissed.
func (d *DB) attempt(ctx context.Context, pool *sql.DB, fn func(*Tx) error, current bool) (err error, mayRepeat bool) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err, mayRetry(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	if current {
		if err := d.catchUp(ctx, conn); err != nil {
			return err, mayRetry(err)
		}
	}
	stx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err, mayRetry(err)
	}
	defer func() { _ = stx.Rollback() }()

	t := &Tx{d: d, tx: stx, ctx: ctx}
	stands := false
	defer func() {
		if !stands {
			t.undone(0)
		}
	}()
	t.until, _ = ctx.Deadline()
	err = fn(t)
	if !current && t.mayBeBehind(ctx) {
		return errMissed, false
	}
	if err == nil {
		err = t.flush(ctx)
	}
	if t.aborted != nil { // fn may have ignored the error
		err = t.aborted
	}
	if err != nil {
		return err, mayRetry(err)
	}
	err, mayRepeat = d.commit(ctx, stx)
	stands = err == nil
	return err, mayRepeat
}

// commit commits the transaction. If the answer is lost or unclear, ErrUnknownOutcome is in the
// error chain.
func (d *DB) commit(ctx context.Context, stx *sql.Tx) (err error, mayRepeat bool) {
	if err := ctx.Err(); err != nil {
		return err, false
	}
	err = rolledBack(ctx, stx.Commit())
	switch {
	case err == nil:
		return nil, false
	case errors.Is(err, driver.ErrBadConn): // nothing was sent
		return err, true
	case sqlerror.OutcomeUnknown(err):
		return fault.Transientf(fmt.Errorf("%w: %w", ErrUnknownOutcome, err),
			"the outcome of the request is not known; try again"), false
	}
	return err, mayRetry(err)
}

// mayRetry reports whether a transaction that failed with err may run again.
func mayRetry(err error) bool { return !errors.Is(err, ErrUnknownOutcome) && sqlerror.MayRepeat(err) }
