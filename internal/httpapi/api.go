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

// Engines are the engines that handlers call. All of them use the same version of the model.
// A request uses one set until its answer ends. Only a request that waits for changes
// switches to newer sets.
type Engines struct {
	Credentials   Credentials
	Bulk          Bulk
	Undo          Undo
	Plans         Plans
	Queries       Queries
	Writes        Writes
	Roles         Roles
	Tags          Tags
	Activity      Activity
	Changes       Changes
	Webhooks      Webhooks
	Tokens        Tokens
	Audit         Audit
	System        System
	Metadata      Metadata
	Localization  Localization
	Configuration *describe.Configuration
	Attachments   Attachments
}

// Options are the settings of an API.
type Options struct {
	Instance string        // first path segment; empty: paths start at the root
	MaxBody  int           // bytes; a larger body gets 413; 0: 64 MiB
	MaxFile  int           // largest content of an attachment, in bytes
	Timeout  time.Duration // time limit of one request; 0: one minute
	Public   string        // base URL as clients see it; browsers may send writes from pages of its origin
	Open     bool          // true: open routes (see Route.Open) need no credentials
	// If Loopback is true, the API answers only requests whose Host is a loopback name or the host
	// of Public. It refuses all others.
	Loopback bool
	// Pages returns the handler of pages; nil: no pages. Pages send their own requests to the
	// interface through the transport.
	Pages func(http.RoundTripper) http.Handler
	// Agents returns the handler of the calls of agents; nil: no agents. It sends its requests to the
	// interface through the transport.
	Agents func(http.RoundTripper) http.Handler
	Scrape Scrape

	Memory         *memory.Budget  // shared by all requests; nil: 1 GiB
	Running        int             // limit of running requests; 0: 256
	Recent         int             // limit of running requests that began within the last recentFor; 0: no limit
	MemberRequests int             // limit of running requests of one member; 0: 64
	Conns          inbound.Bounds  // zero: 4096 connections, a quarter of them from one address
	Proxies        inbound.Proxies // their X-Forwarded-For is trusted

	Log     *slog.Logger
	Metrics Registerer      // may be nil
	Tracer  *tracing.Tracer // nil: no traces are sent
}

// Limits that are not settings. They protect against slow and odd clients.
const (
	headTimeout  = 10 * time.Second // time limit for receiving the request line and headers
	writeTimeout = 5 * time.Minute  // time limit for sending the whole answer
	idleTimeout  = 2 * time.Minute  // longest time between two requests on a connection
	maxHeader    = 32 << 10         // bytes of request line and headers; filters make long request lines

	defaultMemory  = 1 << 30
	defaultRunning = 256
	defaultMember  = 64
	defaultConns   = 4096

	maxQueued      = 256             // waiting requests of one member
	maxQueuedInAll = 512             // waiting requests of all members
	maxWait        = 5 * time.Second // longest wait for a slot

	moreRest = 1 << 20 // bytes above the largest allowed body that are still read and dropped

	recentFor = 250 * time.Millisecond // after this time a running request does not count as recent

	maxTransfers    = 256 // attachments that are sent or received at the same time
	maxOwnTransfers = 64  // attachments that one member sends or receives at the same time
)

// API serves the HTTP interface; make it with New.
type API struct {
	engines func() *Engines // returns the current set

	memory    *memory.Budget
	members   *admission.Queue // running requests, by member
	large     *admission.Queue // requests with large bodies, by member
	addresses *admission.Queue // requests through trusted proxies, by client address
	visitors  *admission.Queue // requests of visitors, by network
	transfers *admission.Queue // attachments that are sent or received, by member
	followers *admission.Queue // requests that wait for changes, by member
	viewers   *admission.Queue // requests for pages, by network
	readers   *admission.Queue // requests for pages, by member
	callers   *admission.Queue // calls of agents, by member
	scrapers  *admission.Queue // requests for metrics, by network
	scrape    Scrape
	proxies   inbound.Proxies
	bounds    inbound.Bounds
	refusals  refusalLimiter
	draining  atomic.Bool // set by Drain
	listener  atomic.Pointer[inbound.Listener]
	closing   context.Context // ends when the server stops
	close     context.CancelFunc
	origin    string       // scheme and host of the public URL
	open      bool         // open routes need no credentials
	loopback  bool         // see Options.Loopback
	pages     http.Handler // nil: no pages
	agents    http.Handler // nil: no agents

	instance     string
	maxBody      int
	maxRest      int64 // bytes of an unwanted body that are read and dropped
	timeout      time.Duration
	bodyGrace    time.Duration
	refusalDelay time.Duration
	pause        func(time.Duration) // time.Sleep, except in tests
	heartbeat    time.Duration
	followWrite  time.Duration
	stall        time.Duration
	log          *slog.Logger
	tracer       *tracing.Tracer // nil: no traces are sent
	m            *metrics
	metrics      Registerer
	app          *fiber.App
}

// New returns an API that does not serve yet. engines returns the current set of engines. The
// API calls it at least once for each request.
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
		callers:   admission.New(callerBounds()),
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
		a.pages = o.Pages(door{a, maxInner})
	}
	if o.Agents != nil {
		a.agents = o.Agents(door{a, maxAgentInner})
	}
	a.app = a.fiber(Routes())
	return a
}

// memberBounds has a lower limit for recent requests than for all running requests. So only a
// few short requests share the cores, and each of them ends soon. Slow requests, which wait for
// the database, are not recent and do not delay short requests.
func memberBounds(o Options) admission.Bounds {
	return admission.Bounds{
		Running: o.Running, Recent: o.Recent, RecentFor: recentFor, PerKey: o.MemberRequests,
		Line: maxQueued, Waiting: maxQueuedInAll, Wait: maxWait,
	}
}

// largeBounds limits requests with large bodies, because each of them keeps a core busy. All of
// them together use at most half of the cores, and the large requests of one member use at most a
// quarter. The other cores are for small requests. A request waits for its slot until its time
// limit.
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

// fiber returns an HTTP server with the routes of a table.
func (a *API) fiber(table []Route) *fiber.App {
	fiberlog.SetOutput(io.Discard)
	app := fiber.New(fiber.Config{
		BodyLimit:             a.maxBody,
		ReadBufferSize:        maxHeader,
		ReadTimeout:           headTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		DisableStartupMessage: true,
		// Otherwise the library writes forms to files before the sender is authenticated.
		DisablePreParseMultipartForm: true,
		StreamRequestBody:            true, // so that credentials are checked before the body is read
		ErrorHandler:                 a.reject,
		RequestMethods:               methods,
	})
	recovery := recover.New(recover.Config{EnableStackTrace: true, StackTraceHandler: a.recovered})
	app.Use(a.observe, recovery, wellFormed, a.knownHost, a.normalizePath)
	a.register(app, table)
	server := app.Server()
	server.SecureErrorLogMessage = true // errors of the library then contain no part of a request
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

// otherMethods routes a request with an unknown method as methodOther. Without it, fiber
// answers 400 before any handler runs.
func otherMethods(app *fiber.App, next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(f *fasthttp.RequestCtx) {
		if slices.Contains(methods, string(f.Method())) {
			next(f)
			return
		}
		c := app.AcquireCtx(f)
		defer app.ReleaseCtx(c)
		c.Method(methodOther)
		_ = c.RestartRouting() // no error: observe, the outermost middleware, returns none
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

// Drain closes each connection after its next answer. So clients that keep connections open,
// such as proxies, have none left when the process stops.
func (a *API) Drain() { a.draining.Store(true) }

// stall is how long a client may read nothing of its answer while the server stops. After
// that the connection is closed.
const stall = 3 * time.Second

// Shutdown stops accepting connections and waits for running requests until ctx ends.
// Requests that wait for changes end at once. Answers that the client does not read end after
// stall.
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
