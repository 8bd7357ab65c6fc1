package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"
	fiberlog "github.com/gofiber/fiber/v2/log"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/valyala/fasthttp"

	"github.com/alds-dev/alds/internal/admission"
	"github.com/alds-dev/alds/internal/inbound"
	"github.com/alds-dev/alds/internal/memory"
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
	Public   string        // the base URL as others see it; its origin may write from a browser

	Memory         *memory.Budget  // what requests need together; nil means 1 GiB
	Running        int             // requests worked on at the same time; 0 means 256
	MemberRequests int             // of those, of one member; 0 means 64
	Conns          inbound.Bounds  // zero: 4096, a quarter of one address
	Proxies        inbound.Proxies // whose X-Forwarded-For counts

	Log     *slog.Logger
	Metrics Registerer // may be nil
}

// Limits that are no settings: they protect against slow and odd clients.
const (
	headTimeout  = 10 * time.Second // the request line and headers, or the first byte
	writeTimeout = 5 * time.Minute  // a whole answer
	idleTimeout  = 2 * time.Minute  // between requests on a connection
	maxHeader    = 32 << 10         // bytes; filters make long request lines

	defaultMemory  = 1 << 30
	defaultRunning = 256
	defaultMember  = 64
	defaultConns   = 4096

	lineOfMember = 256             // requests that wait, of one member
	mostWaiting  = 512             // requests that wait, in all
	longestWait  = 5 * time.Second // for a turn; who waits longer had better come back
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

	memory    *memory.Budget
	members   *admission.Queue // who may work, by member
	large     *admission.Queue // of those with large bodies, which may work
	addresses *admission.Queue // whose requests are looked at, by address behind a trusted proxy
	proxies   inbound.Proxies
	bounds    inbound.Bounds
	refusals  refusals
	origin    string // scheme and host of the public URL

	instance string
	maxBody  int
	timeout  time.Duration
	patience time.Duration
	pause    time.Duration
	log      *slog.Logger
	m        *metrics
	metrics  Registerer
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
	o.fill()
	a := &API{
		credentials: e.Credentials, bulk: e.Bulk, queries: e.Queries, writes: e.Writes, roles: e.Roles, tags: e.Tags, webhooks: e.Webhooks,
		memory:    o.Memory,
		members:   admission.New(admission.Bounds{Running: o.Running, PerKey: o.MemberRequests, Line: lineOfMember, Waiting: mostWaiting, Wait: longestWait}),
		large:     admission.New(largeAtATime()),
		addresses: admission.New(admission.Bounds{Running: o.Conns.Conns, PerKey: o.Conns.PerAddress, Line: o.Conns.PerAddress, Wait: longestWait}),
		proxies:   o.Proxies, bounds: o.Conns, origin: originOf(o.Public),
		instance: o.Instance, maxBody: o.MaxBody, timeout: o.Timeout, patience: bodyPatience, pause: refusalPause, log: o.Log, m: newMetrics(o.Metrics),
	}
	a.m.watch(o.Metrics, a)
	a.metrics = o.Metrics
	a.app = a.fiber()
	return a
}

// largeAtATime are half of the cores, of one member half of that: what reads and
// writes large bodies keeps a core busy, and small requests need one now and
// then. It is waited for as long as the request may last: whoever sends much
// knows that it takes long.
func largeAtATime() admission.Bounds {
	cores := runtime.GOMAXPROCS(0)
	return admission.Bounds{Running: max(1, cores/2), PerKey: max(1, cores/4), Line: lineOfMember}
}

// fill sets what was left open.
func (o *Options) fill() {
	if o.Memory == nil {
		o.Memory = memory.NewBudget(defaultMemory)
	}
	if o.Running == 0 {
		o.Running = defaultRunning
	}
	if o.MemberRequests == 0 {
		o.MemberRequests = defaultMember
	}
	if o.Conns == (inbound.Bounds{}) {
		o.Conns = inbound.Bounds{Conns: defaultConns, PerAddress: defaultConns / 4}
	}
}

// fiber makes the server and its router.
func (a *API) fiber() *fiber.App {
	fiberlog.SetOutput(io.Discard)
	app := fiber.New(fiber.Config{
		BodyLimit:             a.maxBody,
		ReadBufferSize:        maxHeader,
		ReadTimeout:           headTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		DisableStartupMessage: true,
		// A form would be written to files before anybody is proven.
		DisablePreParseMultipartForm: true,
		StreamRequestBody:            true, // who may not send one is refused before it is read
		ErrorHandler:                 a.reject,
		RequestMethods:               methods,
	})
	recovering := recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: a.panicked})
	app.Use(a.observe, recovering, wellFormed, a.normalizePath)
	a.register(app)
	server := app.Server()
	server.SecureErrorLogMessage = true // no part of a request in what the library says
	server.Logger = noLog{}
	server.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
		return fasthttp.RequestConfig{ReadTimeout: bodyPatience}
	}
	server.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		if in, ok := c.(*inbound.Conn); ok && state == fasthttp.StateIdle {
			in.SetIdle()
		}
	}
	server.Handler = otherMethods(app, server.Handler)
	return app
}

// otherMethods routes a method that fiber does not know, which it would answer
// with 400 before any handler runs, as methodOther.
func otherMethods(app *fiber.App, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(f *fasthttp.RequestCtx) {
		if slices.Contains(methods, string(f.Method())) {
			next(f)
			return
		}
		c := app.AcquireCtx(f)
		defer app.ReleaseCtx(c)
		c.Method(methodOther)
		_ = c.RestartRouting() // observe returns no error
	}
}

// Serve answers requests from l until Shutdown.
func (a *API) Serve(l net.Listener) error {
	in := inbound.Listen(l, a.bounds, inbound.Options{Proxies: a.proxies, Log: a.log, Metrics: a.metrics})
	if err := a.app.Listener(in); err != nil {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// Shutdown stops accepting and waits for the requests being answered, until
// ctx ends.
func (a *API) Shutdown(ctx context.Context) error { return a.app.ShutdownWithContext(ctx) }

// noLog drops what the HTTP library says of single connections.
type noLog struct{}

// Printf does nothing.
func (noLog) Printf(string, ...any) {}
