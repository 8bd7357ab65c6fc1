package db

import (
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// MaxTurnRead is the time limit for all queries of one write on SQLite. Other writes wait during
// these queries.
const MaxTurnRead = 2 * time.Second

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

// ReadInTurn calls do, which executes a query of a request. On SQLite, all queries of one write
// together may take MaxTurnRead. The query that exceeds this limit is interrupted, and the write
// ends. If other processes keep the machine busy, the limit applies to the processor time of this
// process. The limit by the clock is then MaxTurnRead times starved. If q is not a write on SQLite,
// ReadInTurn only calls do.
// Errors: the error of do; ErrTurnRead.
func ReadInTurn(q Querier, do func() error) error {
	t, ok := q.(*Tx)
	if !ok || t.shared == nil || t.shared.Interrupt == nil {
		return do()
	}
	return t.readInTurn(do)
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
