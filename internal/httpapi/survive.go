package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// guarded recovers from a panic outside of a route, such as in observe or in the library. A
// panic there would end the process. The client gets 500, and the connection is closed.
func (a *API) guarded(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(f *fasthttp.RequestCtx) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			x, _ := f.UserValue(exchangeKey{}).(*exchange)
			a.survive(x, value)
			a.quietly(nil, func() { f.Response.Reset() }) // closes a body that was set
			f.Response.SetConnectionClose()
			f.Response.SetStatusCode(http.StatusInternalServerError)
			f.Response.Header.SetContentType(fiber.MIMEApplicationJSON)
			f.Response.SetBodyString(`{"error":"internal error","exceptions":[{"message":"internal error"}]}`)
		}()
		next(f)
	}
}

// closed calls the function end, which ends a streamed answer, and recovers if end panics. This is
// necessary because the server closes the body of an answer outside of all other code that
// recovers.
func (a *API) closed(x *exchange, end func() error) (err error) {
	a.quietly(x, func() { err = end() })
	return err
}

// quietly runs f. If f panics, quietly recovers and releases the exchange x, unless x is nil.
func (a *API) quietly(x *exchange, f func()) {
	defer func() {
		if value := recover(); value != nil {
			a.survive(x, value)
		}
	}()
	f()
}

// countPanic counts a panic and returns it as an error with its stack. It must be called in
// the function that recovered, so that the stack shows the panic.
func (a *API) countPanic(value any) error {
	a.m.panics.Inc()
	return fmt.Errorf("panic: %v\n%s", value, debug.Stack())
}

// survive counts and logs a panic, and releases the exchange. x is nil if the panic came
// before the exchange began.
func (a *API) survive(x *exchange, value any) {
	defer func() { _ = recover() }() // a panic of the logger cannot be reported anywhere
	err := a.countPanic(value)
	request := ""
	if x != nil {
		request = x.ID
		for len(x.releases) > 0 {
			a.quietly(nil, x.release)
		}
		if !x.recorded {
			x.recorded = true
			x.span.Fail()
			x.endSpan()
			a.m.inFlight.Dec()
		}
	}
	a.log.LogAttrs(context.Background(), slog.LevelError, "request failed", slog.String("request", request), slog.Any("err", err))
}
