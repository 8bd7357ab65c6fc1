package db

import (
	"context"
	"sync"
	"time"
)

// interruptAgain is when a statement that has not ended is interrupted again: SQLite
// forgets an interrupt that comes before a statement begins.
const interruptAgain = time.Millisecond

// watch ends a statement of SQLite with its context. The driver would start a
// goroutine for each statement that has one, and wake it in the end.
type watch struct {
	c    *conn
	stop func() bool // nil where the context never ends

	mu   sync.Mutex // held while the statement is interrupted
	over bool
}

// watch begins to watch the context of a statement; over ends it.
func (c *conn) watch(ctx context.Context) *watch {
	w := &watch{c: c}
	if ctx.Done() != nil {
		w.stop = context.AfterFunc(ctx, w.interrupt)
	}
	return w
}

func (w *watch) interrupt() {
	for {
		w.mu.Lock()
		if w.over {
			w.mu.Unlock()
			return
		}
		w.c.interrupt()
		w.mu.Unlock()
		time.Sleep(interruptAgain)
	}
}

// end is called when the statement has ended; no interrupt comes after it.
func (w *watch) end() {
	if w.stop != nil {
		w.stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// unwatched is a context for which database/sql starts no goroutine that waits for its
// end. A connection to SQLite takes the context in it for the statement.
type unwatched struct{ context.Context }

// Done returns nil: nobody waits.
func (unwatched) Done() <-chan struct{} { return nil }

// watchedIn returns the context that ends a statement.
func watchedIn(ctx context.Context) context.Context {
	if u, ok := ctx.(unwatched); ok {
		return u.Context
	}
	return ctx
}
