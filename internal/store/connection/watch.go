package connection

import (
	"context"
	"sync"
	"time"
)

// interruptAgain is the pause before an unfinished statement is interrupted again. SQLite
// ignores an interrupt that comes before the statement begins.
const interruptAgain = time.Millisecond

// watch interrupts a statement of SQLite when the context of the statement ends. The driver could
// do this too, but it would start a goroutine for every statement.
type watch struct {
	c    *conn
	stop func() bool // nil if the context never ends

	mu   sync.Mutex // held while the statement is interrupted
	over bool
}

// watch starts to watch the context of a statement. The method end stops watching.
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

// end stops watching, after the statement has ended. After end returns, the statement is not
// interrupted any more.
func (w *watch) end() {
	if w.stop != nil {
		w.stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// Unwatched returns a context for a statement of a SQLite file. When ctx ends, the statement is
// interrupted, but database/sql starts no goroutine that waits for the end of ctx.
func Unwatched(ctx context.Context) context.Context { return unwatched{ctx} }

// unwatched is a context for which database/sql starts no goroutine. A connection to SQLite takes
// the original context out of it, and watches that context.
type unwatched struct{ context.Context }

// Done returns nil, so database/sql does not wait for the end of the context.
func (unwatched) Done() <-chan struct{} { return nil }

// watchedIn returns the context that a connection to SQLite must watch: the original context of an
// unwatched context, otherwise ctx.
func watchedIn(ctx context.Context) context.Context {
	if u, ok := ctx.(unwatched); ok {
		return u.Context
	}
	return ctx
}
