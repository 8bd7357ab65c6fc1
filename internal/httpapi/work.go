package httpapi

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/inbound"
	"github.com/alds-dev/alds/internal/memory"
)

// errClientGone is why a request ends whose client did not wait for the answer.
var errClientGone = errors.New("the client has gone")

// work is what a request holds until its answer is sent.
type work struct {
	ctx    context.Context
	hold   *memory.Hold
	ending []func() // to be called in the end, the last first
}

// start makes the context of a request that came on a connection. The caller
// ends the work.
func (a *API) start(c *fiber.Ctx) *work {
	w := &work{}
	ctx, cancel := context.WithTimeout(c.UserContext(), a.timeout)
	w.atEnd(cancel)
	ctx, gone := context.WithCancelCause(ctx)
	w.atEnd(func() { gone(nil) })
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetBusy()
		w.atEnd(conn.Watch(func() { gone(errClientGone) }))
	}
	w.ctx = ctx
	return w
}

// belongsTo gives the work the share of the memory that its member has.
func (w *work) belongsTo(b *memory.Budget, member int64) {
	w.hold = b.Hold(member)
	w.atEnd(w.hold.Release)
	w.ctx = memory.With(w.ctx, w.hold)
}

func (w *work) atEnd(f func()) { w.ending = append(w.ending, f) }

// end gives back all that the request held. It may be called twice.
func (w *work) end() {
	for i := len(w.ending) - 1; i >= 0; i-- {
		w.ending[i]()
	}
	w.ending = nil
}

// clientGone reports whether the request ended because its client had gone.
func (w *work) clientGone() bool { return errors.Is(context.Cause(w.ctx), errClientGone) }
