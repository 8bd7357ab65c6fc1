package connection

import (
	"context"
	"sync"
	"time"
)

// interruptAgain is the pause before an unfinished statement is interrupted again. SQLite
// ignores an interrupt that comes before the statement begins.
const interruptAgain = time.Millisecond

// watch ends a statement of SQLite when its context ends. The driver would start a goroutine
// for every statement with such a context.
type watch struct {
	c    *conn
	stop func() bool // nil if the context never ends

	mu   sync.Mutex // held while the statement is interrupted
	over bool
}

// watch starts to watch the context of a statement; end ends that.
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

// end is called when the statement has ended. No interrupt follows it.
func (w *watch) end() {
	if w.stop != nil {
		w.stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// Unwatched returns a context for a statement of a SQLite file. The end of ctx interrupts the
// statement; database/sql starts no goroutine for that.
func Unwatched(ctx context.Context) context.Context { return unwatched{ctx} }

// unwatched is a context for which database/sql starts no goroutine. A connection to SQLite
// uses the context in it for the statement.
type unwatched struct{ context.Context }

// Done returns nil, so nothing waits for the end of the context.
func (unwatched) Done() <-chan struct{} { return nil }

// watchedIn returns the context that ends a statement.
func watchedIn(ctx context.Context) context.Context {
	if u, ok := ctx.(unwatched); ok {
		return u.Context
	}
	return ctx
}
