package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	fiberlog "github.com/gofiber/fiber/v2/log"
	"github.com/gofiber/fiber/v2/middleware/recover"
	"github.com/valyala/fasthttp"

	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/limits/admission"
	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/query/describe"
)

// Engines are called by the handlers of routes. They work by one model: a request
// takes one set and keeps it to the end of its answer.
type Engines struct {
	Credentials Credentials
	Bulk        Bulk
	Queries     Queries
	Writes      Writes
	Roles       Roles
	Tags        Tags
	Activity    Activity
	Changes     Changes
	Webhooks    Webhooks
	Tokens      Tokens
	Audit       Audit
	System      System
	Metadata    Metadata
	// Localization gives the texts that people read for tags.
	Localization  Localization
	Configuration *describe.Configuration
	Attachments   Attachments
}

// Options are the settings of an API.
type Options struct {
	Instance string        // first path segment; empty: paths start at the root
	MaxBody  int           // bytes; larger ones are refused with 413; 0 means 64 MiB
	MaxFile  int           // bytes of the content of an attachment
	Timeout  time.Duration // of one request; 0 means one minute
	Public   string        // base URL as clients see it; browsers may write from its origin
	Open     bool          // open routes are read without credentials
	// Loopback refuses requests whose Host is neither a name of loopback nor that of Public.
	Loopback bool
	// Pages makes what answers browsers, from a transport to the interface; nil: there
	// are no pages.
	Pages  func(http.RoundTripper) http.Handler
	Scrape Scrape

	Memory         *memory.Budget  // of all requests; nil means 1 GiB
	Running        int             // requests executed at the same time; 0 means 256
	Recent         int             // of those, begun within the last recentFor; 0: any number
	MemberRequests int             // of those, of one member; 0 means 64
	Conns          inbound.Bounds  // zero: 4096, a quarter of one address
	Proxies        inbound.Proxies // whose X-Forwarded-For is trusted

	Log     *slog.Logger
	Metrics Registerer      // may be nil
	Tracer  *tracing.Tracer // nil: no traces
}

// Limits that are not settings. They protect against slow and odd clients.
const (
	headTimeout  = 10 * time.Second // the request line and headers, or their first byte
	writeTimeout = 5 * time.Minute  // the whole answer
	idleTimeout  = 2 * time.Minute  // between requests on a connection
	maxHeader    = 32 << 10         // bytes; filters make long request lines

	defaultMemory  = 1 << 30
	defaultRunning = 256
	defaultMember  = 64
	defaultConns   = 4096

	maxQueued      = 256             // waiting requests of one member
	maxQueuedInAll = 512             // waiting requests of all members
	maxWait        = 5 * time.Second // for a slot

	moreRest = 1 << 20 // bytes of a body that is dropped, above the largest that is taken

	recentFor = 250 * time.Millisecond // a request that runs longer makes room for another

	maxTransfers    = 256 // contents of attachments that are sent or received
	maxOwnTransfers = 64  // of those, of one member
)

// API serves the HTTP interface; make it with New.
type API struct {
	engines func() *Engines // the present set

	memory    *memory.Budget
	members   *admission.Queue // requests being executed, by member
	large     *admission.Queue // of those, the ones with large bodies, by member
	addresses *admission.Queue // requests through trusted proxies, by client address
	visitors  *admission.Queue // requests without credentials, by network
	transfers *admission.Queue // contents that come or go, by member
	followers *admission.Queue // requests that wait for changes, by member
	viewers   *admission.Queue // pages that are made, by network
	readers   *admission.Queue // the same, by member
	scrapers  *admission.Queue // metrics that are collected, by network
	scrape    Scrape
	proxies   inbound.Proxies
	bounds    inbound.Bounds
	refusals  refusalLimiter
	draining  atomic.Bool // see Drain
	listener  atomic.Pointer[inbound.Listener]
	closing   context.Context // ends when the server stops
	close     context.CancelFunc
	origin    string       // scheme and host of the public URL
	open      bool         // open routes need no credentials
	loopback  bool         // see Options.Loopback
	pages     http.Handler // may be nil

	instance     string
	maxBody      int
	maxRest      int64 // of a body that is dropped, in bytes
	timeout      time.Duration
	bodyGrace    time.Duration
	refusalDelay time.Duration
	pause        func(time.Duration) // time.Sleep
	heartbeat    time.Duration
	followWrite  time.Duration
	stall        time.Duration
	log          *slog.Logger
	tracer       *tracing.Tracer // may be nil
	m            *metrics
	metrics      Registerer
	app          *fiber.App
}

// New builds an API that is not serving yet. engines returns the set that requests
// work by from now on; it is called by each.
func New(engines func() *Engines, o Options) *API {
	o.setDefaults()
	a := &API{
		engines:   engines,
		memory:    o.Memory,
		members:   admission.New(memberBounds(o)),
		large:     admission.New(largeBounds()),
		addresses: admission.New(admission.Bounds{Running: o.Conns.Conns, PerKey: o.Conns.PerAddress, Line: o.Conns.PerAddress, Wait: maxWait}),
		visitors:  admission.New(visitorBounds(o.Running)),
		transfers: admission.New(admission.Bounds{Running: maxTransfers, PerKey: maxOwnTransfers, Line: maxQueued, Waiting: maxQueuedInAll, Wait: maxWait}),
		followers: admission.New(followBounds()),
		viewers:   admission.New(pageBounds()),
		readers:   admission.New(readerBounds()),
		scrapers:  admission.New(scrapeBounds()),
		scrape:    o.Scrape,
		open:      o.Open, loopback: o.Loopback,
		proxies: o.Proxies, bounds: o.Conns, origin: originOf(o.Public),
		instance: o.Instance, maxBody: o.MaxBody, maxRest: int64(max(o.MaxBody, o.MaxFile)) + moreRest, timeout: o.Timeout, bodyGrace: bodyGrace, refusalDelay: refusalDelay, pause: time.Sleep,
		heartbeat: heartbeat, followWrite: followWrite, stall: stall,
		log: o.Log, tracer: o.Tracer, m: newMetrics(o.Metrics), metrics: o.Metrics,
	}
	a.closing, a.close = context.WithCancel(context.Background())
	a.m.registerGauges(o.Metrics, a)
	if o.Pages != nil {
		a.pages = o.Pages(door{a})
	}
	a.app = a.fiber(Routes())
	return a
}

// memberBounds lets few short requests run at a time, so that each ends soon, and more
// that wait for the database.
func memberBounds(o Options) admission.Bounds {
	return admission.Bounds{
		Running: o.Running, Recent: o.Recent, RecentFor: recentFor, PerKey: o.MemberRequests,
		Line: maxQueued, Waiting: maxQueuedInAll, Wait: maxWait,
	}
}

// largeBounds lets large bodies have half of the cores, and one member half of
// those: each keeps a core busy that small requests need now and then. The wait
// is bounded only by the request's time limit.
func largeBounds() admission.Bounds {
	cores := runtime.GOMAXPROCS(0)
	return admission.Bounds{Running: max(1, cores/2), PerKey: max(1, cores/4), Line: maxQueued}
}

func (o *Options) setDefaults() {
	if o.MaxBody == 0 {
		o.MaxBody = 64 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
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

// fiber makes the server and its router for a table of routes.
func (a *API) fiber(table []Route) *fiber.App {
	fiberlog.SetOutput(io.Discard)
	app := fiber.New(fiber.Config{
		BodyLimit:             a.maxBody,
		ReadBufferSize:        maxHeader,
		ReadTimeout:           headTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		DisableStartupMessage: true,
		// A form would be written to files before its sender is authenticated.
		DisablePreParseMultipartForm: true,
		StreamRequestBody:            true, // credentials are checked before the body is read
		ErrorHandler:                 a.reject,
		RequestMethods:               methods,
	})
	recovery := recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: a.recovered})
	app.Use(a.observe, recovery, wellFormed, a.knownHost, a.normalizePath)
	a.register(app, table)
	server := app.Server()
	server.SecureErrorLogMessage = true // errors of the library show no part of a request
	server.Logger = noLog{}
	server.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
		return fasthttp.RequestConfig{ReadTimeout: bodyGrace}
	}
	server.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		if in, ok := c.(*inbound.Conn); ok && state == fasthttp.StateIdle {
			in.SetIdle()
		}
	}
	server.Handler = a.guarded(otherMethods(app, server.Handler))
	server.ExpectHandler = a.expect(server.Handler)
	return app
}

// otherMethods routes unknown methods as methodOther. fiber would answer 400
// before any handler runs.
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

// Serve serves requests from l until Shutdown.
func (a *API) Serve(l net.Listener) error {
	in := inbound.Listen(l, a.bounds, inbound.Options{Proxies: a.proxies, Log: a.log, Metrics: a.metrics})
	a.listener.Store(in)
	if err := a.app.Listener(in); err != nil {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// Drain makes every answer from now on the last one of its connection, so that those who
// keep connections, such as proxies, have none left when the process stops.
func (a *API) Drain() { a.draining.Store(true) }

// stall is how long the client of an answer may take nothing of it once the server stops.
const stall = 3 * time.Second

// Shutdown stops accepting and waits for running requests until ctx ends. Those that
// wait for changes end at once, those whose client takes nothing soon.
func (a *API) Shutdown(ctx context.Context) error {
	a.close()
	if in := a.listener.Load(); in != nil {
		in.Drain(a.stall)
	}
	return a.app.ShutdownWithContext(ctx)
}

// noLog drops the HTTP library's messages about single connections.
type noLog struct{}

// Printf does nothing.
func (noLog) Printf(string, ...any) {}
