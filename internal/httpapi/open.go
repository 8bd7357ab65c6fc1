package httpapi

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/limits/admission"
)

// Of the requests that run at the same time, visitors have a share, and so has
// each of their networks. Few of them wait.
const (
	visitorShare = 4
	networkShare = 16
	maxVisitors  = 16 // waiting, of one network
	maxVisiting  = 64 // waiting, in all
)

// visitorBounds are the bounds of requests without credentials where running
// requests are executed in all.
func visitorBounds(running int) admission.Bounds {
	return admission.Bounds{
		Running: max(1, running/visitorShare), PerKey: max(1, running/networkShare),
		Line: maxVisitors, Waiting: maxVisiting, Wait: maxWait,
	}
}

// prove returns the middleware that proves the callers of a route.
func (a *API) prove(r Route) fiber.Handler {
	if r.Open && a.open {
		return a.visit
	}
	return a.authenticate
}

// visit is authenticate for an open route: every request passes as a visitor, the actor
// without a member. Credentials are not looked at, so that neither the answer nor its time
// tells whether they are right. A page that reads for its member does so as that member,
// who does not share the slots of visitors. Spec: interface 5.
func (a *API) visit(c *fiber.Ctx) error {
	if _, inner := c.Locals(outerKey{}).(outer); inner && a.credentials(c) != "" {
		return a.authenticate(c)
	}
	exchangeOf(c).visitor = true
	return c.Next()
}

// admitVisitor waits for a slot of the visitor's network, which counts until the
// handler has run: answers of open routes are small or shared by all requests. A
// body is not read.
func (a *API) admitVisitor(ctx context.Context, x *exchange) (err error) {
	if x.leave, err = a.visitors.Enter(ctx, networkOf(x.client)); err == nil {
		x.onRelease(x.leave)
	}
	return err
}

// handled ends what a request holds only while its handler runs.
func (x *exchange) handled() {
	if x.leave != nil {
		x.leave()
	}
}
