package httpapi

import (
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// waitingKey marks a request with Expect: 100-continue, whose client waits before it sends the
// body. askedKey marks a request that needs this body.
type (
	waitingKey struct{}
	askedKey   struct{}
)

// expect serves a request whose client waits for 100 Continue. If the answer does not depend
// on the body, such as 401, 404 and 413, that answer is sent, and expect returns its status.
// Otherwise it returns 100: the library then asks for the body and serves the request again.
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

// askForBody ends a request that will be served again with its body.
func (a *API) askForBody(c *fiber.Ctx, x *exchange) {
	c.Locals(askedKey{}, true)
	x.release()
	a.m.inFlight.Dec()
}

// untilReceived returns the time limit for receiving the body of an upload. This limit is the sum
// of the usual time limit and the longest time that the body may take. most is the size of the
// largest allowed body in bytes. A body of unknown length may take as long as the largest body.
func (a *API) untilReceived(b *requestBody, most int64) time.Duration {
	n := most
	if b.length >= 0 {
		n = min(int64(b.length), most)
	}
	return a.timeout + b.grace + time.Duration(n)*time.Second/bodyRate
}
