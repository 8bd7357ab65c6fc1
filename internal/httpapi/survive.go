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

// guarded keeps the process when something panics outside of a route: in observe, which
// recovers from routes, or in the library. The client gets 500, and the connection is
// closed.
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

// closed ends a streamed answer: the server calls it where nothing else recovers.
func (a *API) closed(x *exchange, end func() error) (err error) {
	a.quietly(x, func() { err = end() })
	return err
}

// quietly runs f, and survives its panic.
func (a *API) quietly(x *exchange, f func()) {
	defer func() {
		if value := recover(); value != nil {
			a.survive(x, value)
		}
	}()
	f()
}

// countPanic counts a panic, and returns it as an error with its stack. It is called
// where it was recovered.
func (a *API) countPanic(value any) error {
	a.m.panics.Inc()
	return fmt.Errorf("panic: %v\n%s", value, debug.Stack())
}

// survive counts and logs a panic, and frees what its exchange holds; nil for one that
// has not begun.
func (a *API) survive(x *exchange, value any) {
	defer func() { _ = recover() }() // of the log: there is nobody left to tell
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
