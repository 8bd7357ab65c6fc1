package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/inbound"
	"github.com/alds-dev/alds/internal/memory"
)

const headerRequestID = "X-Request-Id"

// exchange is a request with its answer: what the request holds until its answer
// is sent, and what its log line says.
type exchange struct {
	id            string
	began         time.Time
	client        string // address
	proxied       bool   // the connection is a trusted proxy's
	route         string
	who           auth.Actor // only the member until it is the request's turn
	authenticated bool

	body     *requestBody
	hold     *memory.Hold
	releases []func()    // to be called in the end, the last first
	gone     atomic.Bool // the client closed the connection while the request was worked on

	answer   []byte
	stream   *streamed // the rest of the answer, which is made while it is sent
	broken   string    // who ended a streamed answer before its last byte; empty: nobody
	panicked error

	method, path           string
	status, received, sent int
}

// exchangeKey is where a request's exchange stands among its locals.
type exchangeKey struct{}

func exchangeOf(c *fiber.Ctx) *exchange { return c.Locals(exchangeKey{}).(*exchange) }

// begin starts an exchange, with a context that ends with the time limit, when
// the client closes the connection, or at release.
func (a *API) newExchange(c *fiber.Ctx) *exchange {
	x := &exchange{
		id: requestID(c), began: time.Now(), route: unrouted, body: a.requestBody(c),
		client: a.client(c), proxied: a.proxies.TrustedAddr(c.Context().RemoteAddr()),
	}
	x.note(c)
	a.m.inFlight.Inc()
	c.Set(headerRequestID, x.id)
	ctx, cancel := context.WithTimeout(c.UserContext(), a.timeout)
	x.atEnd(cancel)
	if conn, ok := c.Context().Conn().(*inbound.Conn); ok {
		conn.SetBusy()
		x.atEnd(conn.Watch(func() {
			x.gone.Store(ctx.Err() == nil)
			cancel()
		}))
	}
	c.SetUserContext(ctx)
	c.Locals(exchangeKey{}, x)
	return x
}

func (x *exchange) atEnd(f func()) { x.releases = append(x.releases, f) }

// release gives back all that the request held. It may be called twice.
func (x *exchange) release() {
	for i := len(x.releases) - 1; i >= 0; i-- {
		x.releases[i]()
	}
	x.releases = nil
}

// observe is the outermost handler: it runs the others, sends the answer or the
// failure, logs one line and counts. It returns no error, since it writes
// failures itself.
func (a *API) observe(c *fiber.Ctx) error {
	x := a.newExchange(c)
	c.Set("X-Content-Type-Options", "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	err := c.Next()
	x.body.skip(c)
	if x.panicked != nil {
		err = x.panicked
	}
	if err != nil {
		a.refuse(c, x, err)
		return nil
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	x.status = c.Response().StatusCode()
	switch { // a stream records the request at its end
	case x.stream != nil:
		c.Response().SetBodyStream(x.stream, -1)
	case len(x.answer) >= largeBody:
		c.Response().SetBodyStream(a.sending(x), len(x.answer))
	default:
		c.Response().SetBodyRaw(x.answer)
		x.sent = len(x.answer)
		x.release()
		a.record(x, nil)
	}
	return nil
}

// refuse answers with a failure and records the request.
func (a *API) refuse(c *fiber.Ctx, x *exchange, err error) {
	if x.gone.Load() && (errors.Is(err, context.Canceled) || fault.KindOf(err) == fault.Transient) {
		x.broken = "client"
	}
	if werr := a.fail(c, err); werr != nil {
		err = fmt.Errorf("write the failure: %w", werr)
	}
	x.status, x.sent = c.Response().StatusCode(), len(c.Response().Body())
	if forLoad(x.status, err) && x.broken == "" {
		a.holdBack(c, x)
	}
	x.release()
	a.record(x, err)
}

// reject is fiber's error handler: the request could not be read.
func (a *API) reject(c *fiber.Ctx, err error) error {
	x := a.newExchange(c)
	closeAfter(c)
	a.refuse(c, x, err)
	return nil
}

// panicked keeps a handler's panic, which fiber's middleware recovered from.
func (a *API) panicked(c *fiber.Ctx, value any) {
	a.m.panics.Inc()
	exchangeOf(c).panicked = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
}

// note keeps what the log line says of the request line, before routing changes it
// and fiber uses its bytes again.
func (x *exchange) note(c *fiber.Ctx) {
	x.method = string(c.Request().Header.Method())
	x.path = clip(string(c.Request().URI().PathOriginal()))
}

// record writes the one line of a request and, when the failure is ours, one
// more with its cause.
func (a *API) record(x *exchange, err error) {
	took := time.Since(x.began)
	a.m.inFlight.Dec()
	a.m.duration.WithLabelValues(methodLabel(x.method), x.route, strconv.Itoa(x.status)).Observe(took.Seconds())
	a.m.received.Add(float64(x.received))
	a.m.sent.Add(float64(x.sent))
	unlogged := 0
	if err != nil && x.broken == "" && forLoad(x.status, err) {
		var ok bool
		if unlogged, ok = a.refusals.next(time.Now()); !ok {
			return
		}
	}
	facts := []slog.Attr{
		slog.String("request", x.id), slog.String("method", x.method), slog.String("route", x.route),
		slog.String("path", x.path), slog.Int("status", x.status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int("received_bytes", x.received), slog.Int("sent_bytes", x.sent), slog.String("address", x.client),
	}
	if x.authenticated {
		facts = append(facts, slog.Int64("member", x.who.Member))
	}
	if err != nil && (x.status < 500 || explained(err)) && x.broken == "" {
		_, msg := judge(err)
		facts = append(facts, slog.String("refused", clip(withoutValues(msg))))
	}
	if unlogged > 0 {
		facts = append(facts, slog.Int("unlogged", unlogged))
	}
	if x.broken != "" {
		a.m.broken.WithLabelValues(x.broken).Inc()
		facts = append(facts, slog.String("broken_by", x.broken))
	}
	ctx := context.Background()
	a.log.LogAttrs(ctx, slog.LevelInfo, "request", facts...)
	if x.status >= 500 && x.broken == "" && !explained(err) || x.broken == "server" {
		a.log.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("request", x.id), slog.String("route", x.route), slog.Any("err", err))
	}
}

// explained reports whether a failure needs no line of its own, since its message
// says all: under overload there are many.
func explained(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Transient && f.Err == nil
}

// client is the address of the client, as text.
func (a *API) client(c *fiber.Ctx) string {
	h := &c.Request().Header
	var forwarded []string
	for _, one := range h.PeekAll(fiber.HeaderXForwardedFor) {
		forwarded = append(forwarded, string(one))
	}
	return a.proxies.Client(c.Context().RemoteAddr(), forwarded).String()
}

// requestID returns the caller's id for the request when it is a plain one,
// else a new one.
func requestID(c *fiber.Ctx) string {
	given := c.Get(headerRequestID)
	if given == "" || len(given) > 64 || strings.ContainsFunc(given, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return uuid.NewString()
	}
	return strings.Clone(given)
}

// methodLabel keeps the metric's label a closed set.
func methodLabel(m string) string {
	switch m {
	case methodGet, methodPost, methodSearch:
		return strings.Clone(m)
	}
	return "other"
}

// clip bounds what a caller can put into the log.
func clip(s string) string {
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
