package httpapi

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/alds-dev/alds/internal/limits/admission"
)

// Limits of visitors, which are requests to open routes.
const (
	visitorShare = 4  // visitors get a quarter of all running requests
	networkShare = 16 // visitors of one network get a sixteenth of all running requests
	maxVisitors  = 16 // waiting visitors of one network
	maxVisiting  = 64 // all waiting visitors
)

// visitorBounds returns the bounds of visitors. running is the maximum number of running
// requests.
func visitorBounds(running int) admission.Bounds {
	return admission.Bounds{
		Running: max(1, running/visitorShare), PerKey: max(1, running/networkShare),
		Line: maxVisitors, Waiting: maxVisiting, Wait: maxWait,
	}
}

// prove returns the middleware that authenticates the callers of a route.
func (a *API) prove(r Route) fiber.Handler {
	if r.Open && a.open {
		return a.visit
	}
	return a.authenticate
}

// visit replaces authenticate on an open route. Every request passes as a visitor, an actor
// without a member. Credentials are ignored, so that neither the answer nor its time reveals
// whether they are valid. Only a request that a page sends for a member is authenticated, so
// that it does not use the slots of visitors. Spec: interface 5.
func (a *API) visit(c *fiber.Ctx) error {
	if _, inner := c.Locals(outerKey{}).(outer); inner && a.credentials(c) != "" {
		return a.authenticate(c)
	}
	exchangeOf(c).visitor = true
	return c.Next()
}

// admitVisitor waits for a slot of the visitor's network. The slot ends when the handler has
// run, since the answers of open routes are small, or shared by all requests. The body is not
// read.
func (a *API) admitVisitor(ctx context.Context, x *exchange) (err error) {
	if x.leave, err = a.visitors.Enter(ctx, networkOf(x.client)); err == nil {
		x.onRelease(x.leave)
	}
	return err
}

// handled ends the slot that a request holds while its handler runs.
func (x *exchange) handled() {
	if x.leave != nil {
		x.leave()
	}
}
