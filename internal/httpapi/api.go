package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	fiberlog "github.com/gofiber/fiber/v2/log"
	"github.com/valyala/fasthttp"
)

// Engines are what the routes call.
type Engines struct {
	Credentials Credentials
	Bulk        Bulk
	Queries     Queries
	Writes      Writes
	Roles       Roles
	Tags        Tags
	Webhooks    Webhooks
}

// Options are the settings of an API.
type Options struct {
	Instance string        // first path segment; empty: paths start at the root
	MaxBody  int           // bytes, 413 beyond; 0 means 64 MiB
	Timeout  time.Duration // bound on one request's engine work; 0 means one minute
	Log      *slog.Logger
	Metrics  Registerer // may be nil
}

// Limits that are no settings: they protect against slow and odd clients.
const (
	readTimeout  = 2 * time.Minute // a whole request, its body included
	writeTimeout = 5 * time.Minute // a whole answer
	idleTimeout  = 2 * time.Minute // between requests on a connection
	maxHeader    = 32 << 10        // bytes; filters make long request lines
)

// API serves the HTTP interface; make it with New.
type API struct {
	credentials Credentials
	bulk        Bulk
	queries     Queries
	writes      Writes
	roles       Roles
	tags        Tags
	webhooks    Webhooks

	instance string
	maxBody  int
	timeout  time.Duration
	log      *slog.Logger
	m        *metrics
	table    []route
	app      *fiber.App
}

// New builds an API that is not serving yet.
func New(e Engines, o Options) *API {
	if o.MaxBody == 0 {
		o.MaxBody = 64 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	a := &API{
		credentials: e.Credentials, bulk: e.Bulk, queries: e.Queries, writes: e.Writes, roles: e.Roles, tags: e.Tags, webhooks: e.Webhooks,
		instance: o.Instance, maxBody: o.MaxBody, timeout: o.Timeout, log: o.Log, m: newMetrics(o.Metrics),
	}
	a.table = a.routes()
	a.app = a.fiber()
	return a
}

// fiber makes the server. Routing is the table's: fiber hands every request to
// serve.
func (a *API) fiber() *fiber.App {
	fiberlog.SetOutput(io.Discard)
	app := fiber.New(fiber.Config{
		BodyLimit:             a.maxBody,
		ReadBufferSize:        maxHeader,
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		DisableStartupMessage: true,
		ErrorHandler:          a.reject,
		RequestMethods:        append(slices.Clone(fiber.DefaultMethods), methodSearch),
	})
	app.Use(a.serve)
	// fiber answers a method it does not know with 400 before any handler runs.
	server := app.Server()
	known, next := app.Config().RequestMethods, server.Handler
	server.Handler = func(f *fasthttp.RequestCtx) {
		if slices.Contains(known, string(f.Method())) {
			next(f)
			return
		}
		c := app.AcquireCtx(f)
		defer app.ReleaseCtx(c)
		_ = a.serve(c)
	}
	return app
}

// Serve answers requests from l until Shutdown.
func (a *API) Serve(l net.Listener) error {
	if err := a.app.Listener(l); err != nil {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// Shutdown stops accepting and waits for the requests being answered, until
// ctx ends.
func (a *API) Shutdown(ctx context.Context) error { return a.app.ShutdownWithContext(ctx) }
