package db

import (
	"context"
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// MaxTurnRead is the time limit for all queries of one write on SQLite. Other writes wait during
// these queries.
const MaxTurnRead = 2 * time.Second

// MaxLockedRead is the time limit for the queries of one write on a server after the first statement
// of the write that may have locked rows. Until then nobody waits for the write.
const MaxLockedRead = 3 * time.Second

// starved is a factor for the case that other processes keep the processors busy. Then MaxTurnRead
// limits the processor time of this process, and MaxTurnRead times starved limits the time by the
// clock.
const starved = 5

// started is when this process has started.
var started = time.Now()

// interruptEvery is the interval of interrupts of a statement that takes too long. An
// interrupt affects only the statement that is running at that moment.
const interruptEvery = 20 * time.Millisecond

// ErrTurnRead ends a write whose queries took too long.
var ErrTurnRead = fault.Invalidf(fault.NoPlace, "The queries of a request that writes took longer than %d ms; send long ones in a request of their own.",
	MaxTurnRead.Milliseconds())

// ErrLockedRead is ErrTurnRead of a server.
var ErrLockedRead = fault.Invalidf(fault.NoPlace, "The queries after the first change of a request took longer than %d ms; send long ones first, or in a request of their own.",
	MaxLockedRead.Milliseconds())

// ReadInTurn calls do, which executes a query of a request. On SQLite, all queries of one write
// together may take MaxTurnRead. The query that exceeds this limit is interrupted, and the write
// ends. If other processes keep the machine busy, the limit applies to the processor time of this
// process. The limit by the clock is then MaxTurnRead times starved. On a server, the queries after
// the first statement that may lock rows may take MaxLockedRead. In a read, ReadInTurn only calls do.
// Errors: the error of do; ErrTurnRead; ErrLockedRead.
func ReadInTurn(ctx context.Context, q Querier, do func(ctx context.Context) error) error {
	t, ok := q.(*Tx)
	switch {
	case !ok:
		return do(ctx)
	case t.shared != nil && t.shared.Interrupt != nil:
		return t.readInTurn(func() error { return do(ctx) })
	case t.locks:
		return t.readLocked(ctx, do)
	}
	return do(ctx)
}

// readLocked calls do, and ends it after MaxLockedRead.
func (t *Tx) readLocked(ctx context.Context, do func(ctx context.Context) error) error {
	began := time.Now()
	limited, cancel := context.WithDeadlineCause(ctx, began.Add(t.d.lockedReads-t.readFor), ErrLockedRead)
	defer cancel()
	err := do(limited)
	t.readFor += time.Since(began)
	if err != nil && errors.Is(context.Cause(limited), ErrLockedRead) {
		err, t.aborted = ErrLockedRead, ErrLockedRead
	}
	return err
}

func (t *Tx) readInTurn(do func() error) error {
	left, began, used := t.d.turns.reads-t.readFor, time.Now(), processorTime()
	took := func() time.Duration {
		wall := time.Since(began)
		return max(min(wall, processorTime()-used), wall/starved)
	}

	over := false
	stop, stopped := make(chan struct{}), make(chan struct{})
	late := time.AfterFunc(left, func() {
		defer close(stopped)
		for {
			if over = over || took() >= left; over {
				t.shared.Interrupt()
			}
			select {
			case <-stop:
				return
			case <-time.After(interruptEvery):
			}
		}
	})
	err := func() error {
		defer func() { // also when do panics, so that no later statement is interrupted
			close(stop)
			if !late.Stop() {
				<-stopped
			}
		}()
		return do()
	}()

	t.readFor += took()
	if over {
		err, t.aborted = ErrTurnRead, ErrTurnRead
	}
	return err
}
