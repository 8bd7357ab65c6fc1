package httpapi

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// waitingKey marks a request whose client waits to be asked for its body
// (Expect: 100-continue), and askedKey one that asks for it.
type (
	waitingKey struct{}
	askedKey   struct{}
)

// expect serves a request whose client waits to be asked for its body. Where the answer
// does not depend on the body, such as 401, 404 and 413, it is the answer, and its status
// is returned; else 100, with which the library asks for the body and serves the request
// as any other.
// Spec: interface 10.3.
func (a *API) expect(serve fasthttp.RequestHandler) func(*fasthttp.RequestCtx) int {
	return func(f *fasthttp.RequestCtx) int {
		f.SetUserValue(waitingKey{}, true)
		serve(f)
		if f.UserValue(askedKey{}) == nil {
			return f.Response.StatusCode()
		}
		f.ResetUserValues()
		f.Response.Reset()
		return fasthttp.StatusContinue
	}
}

// askForBody ends a request that goes on when its body comes.
func (a *API) askForBody(c *fiber.Ctx, x *exchange) {
	c.Locals(askedKey{}, true)
	x.release()
	a.m.inFlight.Dec()
}

// untilReceived is the time that a request has while its body arrives: what the body may
// take at the pace that it must have, beside its own.
func (a *API) untilReceived(b *requestBody, most int64) time.Duration {
	n := most
	if b.length >= 0 {
		n = min(int64(b.length), most)
	}
	return a.timeout + b.grace + time.Duration(n)*time.Second/bodyRate
}
