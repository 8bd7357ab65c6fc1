package httpapi

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/admission"
	"github.com/alds-dev/alds/internal/memory"
	"github.com/alds-dev/alds/internal/trail"
)

// serve returns the fiber handler of a route, for authenticated callers.
func (a *API) serve(r Route) fiber.Handler {
	base := a.base(r)
	return func(c *fiber.Ctx) error {
		x := exchangeOf(c)
		x.route = r.Path
		if r.writes() {
			if err := a.checkOrigin(c); err != nil {
				return err
			}
		}
		req, err := a.newRequest(c, base)
		if err != nil {
			return err
		}
		if err := a.prepare(c, x, req); err != nil {
			return err
		}
		x.answer, err = r.handle(a, c.UserContext(), x.who, req)
		if x.asset = req.asset; err != nil {
			return err
		}
		if req.status != 0 {
			c.Status(req.status)
		}
		for _, h := range req.headers {
			c.Set(h[0], h[1])
		}
		if req.stream != nil {
			x.answer, err = a.startStream(c, x, req.stream)
		}
		return err
	}
}

// prepare reads the body, waits until the request is admitted and reads the
// caller's permissions, whose loss ends the request's context from then on.
func (a *API) prepare(c *fiber.Ctx, x *exchange, req *request) (err error) {
	x.hold = a.memory.Hold(x.who.Member)
	x.onRelease(x.hold.Release)
	c.SetUserContext(trail.With(memory.With(c.UserContext(), x.hold), trail.Origin{Member: x.who.Member, Address: x.client}))
	req.hold = x.hold
	if req.raw, err = x.body.read(a.maxBody, req.hold); err != nil {
		return err
	}
	x.received = len(req.raw)
	if err := a.admit(c.UserContext(), x, req); err != nil {
		return err
	}
	if x.who, err = a.credentials.Proven(c.UserContext(), x.login); err != nil {
		return err
	}
	x.watched, x.unwatch = a.credentials.Watch(c.UserContext(), x.login, x.who)
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
		leave, err := q.Enter(ctx, x.who.Member)
		if err != nil {
			return err
		}
		x.onRelease(leave)
	}
	return nil
}
