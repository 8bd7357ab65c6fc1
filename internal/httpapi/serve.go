package httpapi

import (
	"cmp"
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// serve returns the fiber handler of a route. It runs after the middleware that prove returns.
func (a *API) serve(r Route) fiber.Handler {
	base := a.base(r)
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.route = r.Path
		if r.writes() {
			if err := a.checkOrigin(c, r); err != nil {
				return err
			}
		}
		req, err := a.newRequest(c, base)
		if err != nil {
			return err
		}
		if err := a.prepare(c, x, r, req); err != nil {
			return err
		}
		if x.who.Bounds != nil && r.writes() && !r.Bounded {
			return errBounded()
		}
		req.engines, req.login = a.engines(), x.login
		x.answer, err = r.handle(a, c.UserContext(), x.who, req)
		x.handled()
		if req.incoming != nil {
			x.received = req.incoming.received
		}
		if x.asset = req.asset; err != nil {
			return err
		}
		x.contentType = cmp.Or(req.contentType, contentTypeOf(req.format))
		x.file = req.file.of(a, x)
		if req.status != 0 {
			c.Status(req.status)
		}
		for _, h := range req.headers {
			c.Set(h[0], h[1])
		}
		if req.follow != nil {
			x.answer, err = a.follow(c, x, req.follow)
		}
		if req.stream != nil {
			x.answer, err = a.startStream(c, x, req.stream)
		}
		x.worked()
		return err
	}
}

// errBounded is the error for a token with bounds. It writes only assets, because what else is
// written could take its bounds away, such as a token, a subscription or a setting.
func errBounded() error {
	return fault.Deniedf("The access token has bounds and writes only assets")
}

// prepare reads the body, waits until the request is admitted, and reads the caller's permissions.
// The body of an upload is read by its handler, which waits for a slot after the whole body has
// arrived.
func (a *API) prepare(c *fiber.Ctx, x *exchange, r Route, req *request) (err error) {
	if r.Content && r.writes() {
		a.limit(c, x, a.untilReceived(x.body, a.engines().Attachments.Limit()))
	}
	x.hold = a.memory.Hold(x.who.Member)
	x.onRelease(x.hold.Release)
	c.SetUserContext(trail.With(memory.With(c.UserContext(), x.hold), trail.Origin{Member: x.who.Member, Address: x.client, Tool: toolOf(c)}))
	req.hold = x.hold
	if x.visitor {
		return a.admitVisitor(c.UserContext(), x)
	}
	if r.Content {
		if err := a.enter(c.UserContext(), x, a.transfers); err != nil {
			return err
		}
	}
	if r.Content && r.writes() {
		req.incoming = x.body
		req.admit = func(ctx context.Context) error { return a.admitHandler(ctx, x) }
		return a.know(c, x)
	}
	if req.raw, err = x.body.read(a.maxBody, req.hold); err != nil {
		return err
	}
	x.received = len(req.raw)
	if r.Content {
		err = a.admitHandler(c.UserContext(), x)
	} else {
		err = a.admit(c.UserContext(), x, req)
	}
	if err != nil {
		return err
	}
	return a.know(c, x)
}

// know reads the caller's permissions. From then on, the request's context ends when the
// caller loses rights.
func (a *API) know(c *fiber.Ctx, x *exchange) (err error) {
	if x.who, err = a.engines().Credentials.Proven(c.UserContext(), x.login); err != nil {
		return err
	}
	x.watched, x.unwatch = a.engines().Credentials.Watch(c.UserContext(), x.login, x.who)
	x.onRelease(x.unwatch)
	c.SetUserContext(x.watched)
	return nil
}

// admit waits for a slot. A request with a large body first waits for a slot of the queue
// API.large, and holds no other slot during this time.
func (a *API) admit(ctx context.Context, x *exchange, req *request) error {
	queues := []*admission.Queue{a.members}
	if req.large() {
		queues = []*admission.Queue{a.large, a.members}
	}
	for _, q := range queues {
		if err := a.enter(ctx, x, q); err != nil {
			return err
		}
	}
	return nil
}

// enter waits for a slot of a queue. The slot is ended by worked, or at the latest by release.
func (*API) enter(ctx context.Context, x *exchange, q *admission.Queue) error {
	leave, err := q.Enter(ctx, x.who.Member)
	if err == nil {
		x.onRelease(leave)
		x.slots = append(x.slots, leave)
	}
	return err
}

// worked ends slots when the handler has run. For a complete answer it ends all slots, so that a
// client that reads slowly keeps no other request waiting. For a stream it ends only the slot for a
// large body. For a file it ends no slot. The reserved memory is freed when the answer has been
// sent.
func (x *exchange) worked() {
	left := x.slots
	switch {
	case x.file != nil: // the bytes are read from storage while they are sent
		return
	case x.stream != nil && len(left) > 1:
		left = left[:1]
	case x.stream != nil:
		return
	}
	for _, leave := range left {
		leave()
	}
}

// admitHandler waits for a slot, and gives the slot back when the handler has run. The content is
// sent before or after that, so a slow client does not keep other requests waiting.
func (a *API) admitHandler(ctx context.Context, x *exchange) (err error) {
	if x.leave, err = a.members.Enter(ctx, x.who.Member); err == nil {
		x.onRelease(x.leave)
	}
	return err
}
