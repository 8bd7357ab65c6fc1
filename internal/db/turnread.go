package db

import (
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// MaxTurnRead is how long the queries of one write may take on SQLite, where nobody else
// writes meanwhile.
const MaxTurnRead = 2 * time.Second

// interruptEvery is how often a statement that goes on too long is interrupted: the one
// that runs when it is, and no later one.
const interruptEvery = 20 * time.Millisecond

// ErrTurnRead ends a write whose queries took too long.
var ErrTurnRead = fault.Invalidf(fault.NoPlace, "The queries of a request that writes took longer than %d ms; send long ones in a request of their own.",
	MaxTurnRead.Milliseconds())

// ReadInTurn runs do, which answers a query of a request. In a write on SQLite the queries
// have MaxTurnRead in all; the one that takes longer is interrupted, and the write ends.
// Anywhere else it only runs do.
// Errors: that of do; ErrTurnRead.
func ReadInTurn(q Querier, do func() error) error {
	t, ok := q.(*Tx)
	if !ok || t.shared == nil || t.shared.interrupt == nil {
		return do()
	}
	return t.readInTurn(do)
}

func (t *Tx) readInTurn(do func() error) error {
	began := time.Now()
	stop, stopped := make(chan struct{}), make(chan struct{})
	late := time.AfterFunc(t.d.turns.reads-t.readFor, func() {
		defer close(stopped)
		for {
			t.shared.interrupt()
			select {
			case <-stop:
				return
			case <-time.After(interruptEvery):
			}
		}
	})
	over := false
	err := func() error {
		defer func() { // also when do panics: nothing that runs later is interrupted
			close(stop)
			if over = !late.Stop(); over {
				<-stopped
			}
		}()
		return do()
	}()
	t.readFor += time.Since(began)
	if over {
		err, t.aborted = ErrTurnRead, ErrTurnRead
	}
	return err
}
