package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/admission"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
)

const headerRequestID = "X-Request-Id"

// visit is what the log line of a request tells.
type visit struct {
	id     string
	route  string
	who    auth.Actor // only the member until it is the request's turn
	known  bool       // who is proven
	began  time.Time
	work   *work
	body   *incoming
	stream *streamed // the answer goes on while it is sent
	broken string    // who broke an answer off; empty: nobody

	client  string // address
	proxied bool   // the connection is a trusted proxy's

	method, path           string
	status, received, sent int
}

// serve answers every request that fiber could read: it routes, answers, logs
// one line and counts. It returns no error, since it writes failures itself.
func (a *API) serve(c *fiber.Ctx) error {
	v := &visit{id: requestID(c), route: unrouted, began: time.Now(), work: a.start(c), body: a.incoming(c)}
	v.client, v.proxied = a.client(c), a.proxies.TrustedAddr(c.Context().RemoteAddr())
	a.m.inFlight.Inc()
	c.Set(headerRequestID, v.id)
	c.Set("X-Content-Type-Options", "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	body, err := a.answer(c, v)
	v.body.skip(c)
	if err != nil {
		v.clientGone(err)
		if werr := a.fail(c, err); werr != nil {
			err = fmt.Errorf("write the failure: %w", werr)
		}
		v.note(c)
		v.sent = len(c.Response().Body())
		if forLoad(v.status, err) && v.broken == "" {
			a.holdBack(c, v)
		}
		v.work.end()
		a.record(v, err)
		return nil
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	v.note(c)
	switch { // which records the request in the end, where it is a stream
	case v.stream != nil:
		c.Response().SetBodyStream(v.stream, -1)
	case len(body) >= largeBody:
		c.Response().SetBodyStream(a.sending(v, body), len(body))
	default:
		c.Response().SetBodyRaw(body)
		v.sent = len(body)
		v.work.end()
		a.record(v, nil)
	}
	return nil
}

// clientGone notes when a request failed because nobody waits for its answer.
func (v *visit) clientGone(err error) {
	if v.work.clientGone() && (errors.Is(err, context.Canceled) || fault.KindOf(err) == fault.Transient) {
		v.broken = "client"
	}
}

// answer finds the route, proves the caller and runs the handler. Spec:
// interface 7.1 and compat 9.1 for the order of 405, 401 and 404.
func (a *API) answer(c *fiber.Ctx, v *visit) (body []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.m.panics.Inc()
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if err := wellFormed(c); err != nil {
		closeAfter(c)
		return nil, err
	}
	whole, ok := parsePath(string(c.Request().URI().PathOriginal()))
	if !ok {
		return nil, fault.Invalidf(fault.NoPlace, "The path is not properly encoded")
	}
	below, inside := whole.below(a.instance)
	r, taken, allowed := find(a.table, c.Method(), below)
	if err := refuseMethod(c.Method(), inside, allowed); err != nil {
		return nil, err
	}
	if !inside {
		return nil, errNoSuchURL()
	}
	if err := a.prove(c, v); err != nil {
		return nil, err
	}
	if r == nil && len(allowed) > 0 {
		return nil, methodError{allow: strings.Join(allowed, ", ")}
	}
	if r == nil {
		return nil, errNoSuchURL()
	}
	return a.carryOut(c, v, r, taken)
}

// prove proves the caller. Behind a trusted proxy, where connections say nothing
// of who is there, it first waits until the client's address may have one more
// request worked on.
func (a *API) prove(c *fiber.Ctx, v *visit) (err error) {
	if v.proxied {
		leave, err := a.addresses.Enter(v.work.ctx, v.client)
		if err != nil {
			return err
		}
		v.work.atEnd(leave)
	}
	if v.who.Member, err = a.login(v.work.ctx, c.Get(fiber.HeaderAuthorization), v.client); err != nil {
		return err
	}
	v.known = true
	return nil
}

// carryOut reads the body of a proven caller's request, waits for its turn, reads
// the caller's rights, runs the handler of the route and sets the headers that
// it asks for.
func (a *API) carryOut(c *fiber.Ctx, v *visit, r *route, taken map[string]string) ([]byte, error) {
	v.route = r.path
	if r.writes() {
		if err := a.fromBrowser(c); err != nil {
			return nil, err
		}
	}
	req, err := a.newRequest(c, r, taken)
	if err != nil {
		return nil, err
	}
	v.work.belongsTo(a.memory, v.who.Member)
	req.hold = v.work.hold
	if req.raw, err = v.body.read(a.maxBody, req.hold); err != nil {
		return nil, err
	}
	v.received = len(req.raw)
	if err := a.admit(v, req); err != nil {
		return nil, err
	}
	who, err := a.credentials.Proven(v.work.ctx, v.who.Member)
	if err != nil {
		return nil, err
	}
	v.who = who
	body, err := r.run(v.work.ctx, v.who, req)
	if err != nil {
		return nil, err
	}
	if req.status != 0 {
		c.Status(req.status)
	}
	for _, h := range req.said {
		c.Set(h[0], h[1])
	}
	if req.stream != nil {
		return a.begin(c, v, req.stream)
	}
	return body, nil
}

// admit waits until the request may be worked on: one with a large body for its
// turn among those first, so that it takes no place while it waits.
func (a *API) admit(v *visit, req *request) error {
	queues := []*admission.Queue{a.members}
	if req.large() {
		queues = []*admission.Queue{a.large, a.members}
	}
	for _, q := range queues {
		leave, err := q.Enter(v.work.ctx, v.who.Member)
		if err != nil {
			return err
		}
		v.work.atEnd(leave)
	}
	return nil
}

// refuseMethod refuses what is never allowed, before anybody is proven.
func refuseMethod(method string, inside bool, allowed []string) error {
	switch method {
	case methodGet, methodPost:
		return nil
	case methodSearch:
		for _, m := range allowed {
			if inside && m == methodSearch {
				return nil
			}
		}
	}
	if !inside || len(allowed) == 0 {
		allowed = []string{methodGet, methodPost}
	}
	return methodError{allow: strings.Join(allowed, ", ")}
}

// base is what hrefs start with: the instance and the route's own two segments,
// so that who comes by an alias stays on it.
func (a *API) base(r *route) string {
	b := ""
	if a.instance != "" {
		b = "/" + a.instance
	}
	return b + "/" + strings.Join(r.parts[:min(2, len(r.parts))], "/")
}

func errNoSuchURL() error { return fault.NotFoundf("Not Found") }

// reject is fiber's error handler: the request could not be read.
func (a *API) reject(c *fiber.Ctx, err error) error {
	v := &visit{id: requestID(c), route: unrouted, began: time.Now(), client: a.client(c)}
	a.m.inFlight.Inc()
	c.Set(headerRequestID, v.id)
	closeAfter(c)
	werr := a.fail(c, err)
	v.note(c)
	v.sent = len(c.Response().Body())
	a.record(v, err)
	return werr
}

// note keeps what the request itself tells; nothing of c may be used later.
func (v *visit) note(c *fiber.Ctx) {
	v.method = strings.Clone(c.Method())
	v.path = clip(string(c.Request().URI().PathOriginal()))
	v.status = c.Response().StatusCode()
}

// record writes the one line of a request and, when the failure is ours, one
// more with its cause.
func (a *API) record(v *visit, err error) {
	took := time.Since(v.began)
	a.m.inFlight.Dec()
	a.m.duration.WithLabelValues(methodLabel(v.method), v.route, strconv.Itoa(v.status)).Observe(took.Seconds())
	a.m.received.Add(float64(v.received))
	a.m.sent.Add(float64(v.sent))
	unlogged := 0
	if err != nil && v.broken == "" && forLoad(v.status, err) {
		var ok bool
		if unlogged, ok = a.refusals.next(time.Now()); !ok {
			return
		}
	}
	facts := []slog.Attr{
		slog.String("request", v.id), slog.String("method", v.method), slog.String("route", v.route),
		slog.String("path", v.path), slog.Int("status", v.status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int("received_bytes", v.received), slog.Int("sent_bytes", v.sent), slog.String("address", v.client),
	}
	if v.known {
		facts = append(facts, slog.Int64("member", v.who.Member))
	}
	if err != nil && (v.status < 500 || explained(err)) && v.broken == "" {
		_, msg := judge(err)
		facts = append(facts, slog.String("refused", clip(withoutValues(msg))))
	}
	if unlogged > 0 {
		facts = append(facts, slog.Int("unlogged", unlogged))
	}
	if v.broken != "" {
		a.m.broken.WithLabelValues(v.broken).Inc()
		facts = append(facts, slog.String("broken_by", v.broken))
	}
	ctx := context.Background()
	a.log.LogAttrs(ctx, slog.LevelInfo, "request", facts...)
	if v.status >= 500 && v.broken == "" && !explained(err) || v.broken == "server" {
		a.log.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("request", v.id), slog.String("route", v.route), slog.Any("err", err))
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
