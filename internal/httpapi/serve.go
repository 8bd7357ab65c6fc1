package httpapi

import (
	"cmp"
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// serve returns the fiber handler of a route, for callers that prove let pass.
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

// prepare reads the body, waits until the request is admitted and reads the
// caller's permissions. The body of an upload is read by its handler.
func (a *API) prepare(c *fiber.Ctx, x *exchange, r Route, req *request) (err error) {
	if r.Content && r.writes() {
		a.limit(c, x, a.untilReceived(x.body, a.engines().Attachments.Limit()))
	}
	x.hold = a.memory.Hold(x.who.Member)
	x.onRelease(x.hold.Release)
	c.SetUserContext(trail.With(memory.With(c.UserContext(), x.hold), trail.Origin{Member: x.who.Member, Address: x.client}))
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

// know reads the caller's permissions, whose loss ends the request's context from
// then on.
func (a *API) know(c *fiber.Ctx, x *exchange) (err error) {
	if x.who, err = a.engines().Credentials.Proven(c.UserContext(), x.login); err != nil {
		return err
	}
	x.watched, x.unwatch = a.engines().Credentials.Watch(c.UserContext(), x.login, x.who)
	x.onRelease(x.unwatch)
	c.SetUserContext(x.watched)
	return nil
}

// admit waits for a slot. A request with a large body first waits for a slot
// among those, so that it occupies no other meanwhile.
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

// enter waits for a slot of a queue, which counts while there is work for the answer.
func (*API) enter(ctx context.Context, x *exchange, q *admission.Queue) error {
	leave, err := q.Enter(ctx, x.who.Member)
	if err == nil {
		x.onRelease(leave)
		x.slots = append(x.slots, leave)
	}
	return err
}

// worked gives back what counts while an answer is made: all slots where it is complete,
// that of a large body where it is sent while it is made. A client that does not take its
// answer keeps nobody waiting; memory it holds until the answer is sent.
func (x *exchange) worked() {
	left := x.slots
	switch {
	case x.file != nil: // its bytes are read while they are sent
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

// admitHandler waits for a slot that counts until the handler has run, so that a
// client that is slow to send or read a content keeps no other request waiting.
func (a *API) admitHandler(ctx context.Context, x *exchange) (err error) {
	if x.leave, err = a.members.Enter(ctx, x.who.Member); err == nil {
		x.onRelease(x.leave)
	}
	return err
}
