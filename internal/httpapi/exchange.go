package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/limits/inbound"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

const (
	headerRequestID   = "X-Request-Id"
	headerConsistency = "Consistency"
)

// exchange is one request and its answer. It has the resources that are held until the answer
// is sent, and the values of the log line.
type exchange struct {
	tracing.Request
	span          tracing.Span
	began         time.Time
	method, path  string
	client        string // address of the client
	proxied       bool   // the connection comes from a trusted proxy
	route         string
	challenge     string // WWW-Authenticate of a 401; empty: the constant challenge
	login         auth.Login
	who           auth.Actor // has only its Member until the permissions are read
	authenticated bool
	visitor       bool    // true: the route is open, and credentials of the request are ignored
	asset         oid.OID // asset in the path; zero until the handler has run

	body       *requestBody
	unlimited  context.Context           // context of the request, without the time limit
	limited    atomic.Pointer[contextOf] // context of the request, with the time limit
	hold       *memory.Hold
	releases   []func()    // called by release, the last one first
	leave      func()      // ends the slot that is held while the handler runs
	slots      []func()    // each function ends one slot of the member
	clientGone atomic.Bool // the client closed the connection before the answer was complete
	outerGone  func() bool // reports whether the browser has disconnected; nil unless a page sent the request

	answer      []byte
	contentType string          // Content-Type of the answer; empty: JSON
	stream      *streamedBody   // the answer, if it is made while it is sent
	file        *fileBody       // the answer, if it is the content of an attachment
	live        *liveBody       // the answer, if it is a live stream
	watched     context.Context // ends when the caller loses rights; nil until the permissions are read
	unwatch     func()          // stops watching the rights
	panicked    error

	status, received, sent int
	recorded               bool   // the metrics count the exchange as ended
	brokenBy               string // cause of an incomplete answer: client, time, limit, rights or server; else empty
}

// exchangeKey is the key of the exchange in the locals of fiber.Ctx.
type exchangeKey struct{}

func exchangeOf(c *fiber.Ctx) *exchange { return c.Locals(exchangeKey{}).(*exchange) }

// newExchange starts an exchange. The context of the request ends at the time limit, when the
// client closes the connection, or when release is called.
func (a *API) newExchange(c *fiber.Ctx) *exchange {
	x := &exchange{
		Request: tracing.Request{ID: requestID(c)}, began: time.Now(), route: unrouted, body: a.requestBody(c), unwatch: func() {},
		method: string(c.Request().Header.Method()), path: clip(string(c.Request().URI().PathOriginal())),
		client: a.client(c), proxied: a.proxies.TrustedAddr(c.Context().RemoteAddr()),
	}
	c.Locals(exchangeKey{}, x)
	a.m.inFlight.Inc()
	c.Set(headerRequestID, x.ID)
	if from, ok := c.Locals(outerKey{}).(outer); ok {
		c.SetUserContext(from.ctx)
		x.outerGone = from.isGone
	}
	ctx := tracing.WithRequest(trail.With(withConsistency(c), trail.Origin{Address: x.client}), &x.Request)
	if a.tracer != nil {
		ctx, x.span = a.tracer.StartRequest(ctx, traceparent(c))
	}
	all, cancel := context.WithCancel(ctx)
	x.onRelease(cancel)
	x.unlimited = all
	a.limit(c, x, a.timeout)
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetBusy()
		x.onRelease(conn.Watch(func() {
			x.clientGone.Store(x.limited.Load().Err() == nil)
			cancel()
		}))
	}
	return x
}

// contextOf wraps a context in a struct, because atomic.Pointer needs a concrete type.
type contextOf struct{ context.Context }

// limit gives the request a new time limit: d, counted from now.
func (a *API) limit(c *fiber.Ctx, x *exchange, d time.Duration) {
	ctx, cancel := context.WithTimeout(x.unlimited, d)
	x.onRelease(cancel)
	x.limited.Store(&contextOf{ctx})
	c.SetUserContext(ctx)
}

// isGone reports whether the client has closed the connection. If a page sent the request, isGone
// also returns true if the browser has closed its connection.
func (x *exchange) isGone() bool {
	return x.clientGone.Load() || x.outerGone != nil && x.outerGone()
}

func (x *exchange) onRelease(f func()) { x.releases = append(x.releases, f) }

// cause returns the error to report for a request that failed with err. If the caller lost
// rights during the request, that loss canceled the request, so cause returns the loss.
// Otherwise it returns err.
func (x *exchange) cause(err error) error {
	if x.watched == nil || err == nil {
		return err
	}
	return cmp.Or(auth.Lost(x.watched), err)
}

// release frees all resources of the request. A second call does nothing.
func (x *exchange) release() {
	for n := len(x.releases); n > 0; n = len(x.releases) {
		last := x.releases[n-1]
		x.releases = x.releases[:n-1] // before the call: a function that panics is not called again
		last()
	}
}

// observe is the outermost middleware. It sends the answer or the failure, logs one line and
// updates the metrics.
func (a *API) observe(c *fiber.Ctx) error {
	x := a.newExchange(c)
	c.Set("X-Content-Type-Options", "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	if a.draining.Load() {
		c.Context().SetConnectionClose()
	}
	err := c.Next()
	if errors.Is(err, errContinue) {
		a.askForBody(c, x)
		return nil
	}
	a.discard(c, x.body)
	if x.panicked != nil {
		err = x.panicked
	}
	if err != nil {
		a.refuse(c, x, x.cause(err))
		return nil
	}
	c.Set(fiber.HeaderContentType, cmp.Or(x.contentType, fiber.MIMEApplicationJSON))
	x.status = c.Response().StatusCode()
	switch { // in the first four cases, the exchange is recorded when the server closes the body
	case x.file != nil:
		c.Response().SetBodyStream(x.file, int(x.file.left))
	case x.stream != nil:
		c.Response().SetBodyStream(x.stream, -1)
	case x.live != nil:
		c.Response().SetBodyStream(x.live, -1)
	case len(x.answer) >= largeAnswer:
		c.Response().SetBodyStream(a.newLargeBody(x), len(x.answer))
	default:
		c.Response().SetBodyRaw(x.answer)
		x.sent = len(x.answer)
		x.release()
		a.record(x, nil)
	}
	return nil
}

// refuse sends a failure, and records the exchange in the log and the metrics.
func (a *API) refuse(c *fiber.Ctx, x *exchange, err error) {
	if x.isGone() && (errors.Is(err, context.Canceled) || fault.KindOf(err) == fault.Transient) {
		x.brokenBy = "client"
	}
	if werr := a.fail(c, err); werr != nil {
		err = fmt.Errorf("write the failure: %w", werr)
	}
	x.status, x.sent = c.Response().StatusCode(), len(c.Response().Body())
	a.noteDenial(c.UserContext(), x, err)
	if x.overloaded(err) {
		a.delayRefusal(c, x)
	}
	x.release()
	a.record(x, err)
}

// reject is fiber's error handler, for requests that fiber could not read.
func (a *API) reject(c *fiber.Ctx, err error) error {
	x := a.newExchange(c)
	closeAfter(c, inbound.Rest{Short: shortLinger})
	a.refuse(c, x, err)
	return nil
}

// recovered stores the panic of a handler for observe.
func (a *API) recovered(c *fiber.Ctx, value any) {
	exchangeOf(c).panicked = a.countPanic(value)
}

// client returns the address of the client.
func (a *API) client(c *fiber.Ctx) string {
	var forwarded []string
	for _, h := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		forwarded = append(forwarded, string(h))
	}
	return a.proxies.Client(c.Context().RemoteAddr(), forwarded).String()
}

// requestID returns the client's X-Request-Id if it has 1 to 64 characters and only letters,
// digits, "-", "_" and ".". Otherwise it returns a new id.
func requestID(c *fiber.Ctx) string {
	id := c.Get(headerRequestID)
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return uuid.NewString()
	}
	return strings.Clone(id)
}

// withConsistency returns a context with the consistency that the client asks for. Unknown
// values of the header are ignored. Spec: interface 10.6.
func withConsistency(c *fiber.Ctx) context.Context {
	ctx := c.UserContext()
	switch h := c.Get(headerConsistency); {
	case strings.EqualFold(h, "eventual"):
		return db.WithConsistency(ctx, db.Eventual)
	case strings.EqualFold(h, "strong"):
		return db.WithConsistency(ctx, db.Strong)
	}
	return ctx
}

// headerTool is the header in which a client says what it calls the function that sends a request.
const headerTool = "Alds-Tool"

// toolOf returns the client's tool: 1 to 64 letters, digits, spaces and the characters "-_./". Other values are
// ignored. Spec: interface 10.4.
func toolOf(c *fiber.Ctx) string {
	tool := c.Get(headerTool)
	if len(tool) > 64 || strings.ContainsFunc(tool, func(r rune) bool {
		return !strings.ContainsRune("-_./ ", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return ""
	}
	return strings.Clone(tool)
}

// traceparent returns the client's header Traceparent. It returns an empty string if the request
// has no such header, or more than one, which is not valid.
func traceparent(c *fiber.Ctx) string {
	if all := c.Request().Header.PeekAll("Traceparent"); len(all) == 1 {
		return string(all[0])
	}
	return ""
}
