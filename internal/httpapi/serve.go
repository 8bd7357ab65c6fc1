package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/fault"
)

const headerRequestID = "X-Request-Id"

// visit is what the log line of a request tells.
type visit struct {
	id     string
	route  string
	who    auth.Actor
	known  bool // who is proven
	began  time.Time
	stream *streamed // the answer goes on while it is sent
	broken string    // who broke a streamed answer off; empty: nobody

	method, path, address  string
	status, received, sent int
}

// serve answers every request that fiber could read: it routes, answers, logs
// one line and counts. It returns no error, since it writes failures itself.
func (a *API) serve(c *fiber.Ctx) error {
	v := &visit{id: requestID(c), route: unrouted, began: time.Now()}
	a.m.inFlight.Inc()
	c.Set(headerRequestID, v.id)
	c.Set("X-Content-Type-Options", "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	body, err := a.answer(c, v)
	switch {
	case err != nil:
		if werr := a.fail(c, err); werr != nil {
			err = fmt.Errorf("write the failure: %w", werr)
		}
	case v.stream != nil:
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		v.note(c)
		c.Response().SetBodyStream(v.stream, -1) // which records the request in the end
		return nil
	default:
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		c.Response().SetBodyRaw(body)
	}
	v.note(c)
	v.sent = len(c.Response().Body())
	a.record(v, err)
	return nil
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
	ctx, cancel := context.WithTimeout(c.UserContext(), a.timeout)
	defer func() {
		if v.stream == nil {
			cancel()
		}
	}()
	if v.who, err = a.login(ctx, c.Get(fiber.HeaderAuthorization), c.IP()); err != nil {
		return nil, err
	}
	v.known = true
	if r == nil && len(allowed) > 0 {
		return nil, methodError{allow: strings.Join(allowed, ", ")}
	}
	if r == nil {
		return nil, errNoSuchURL()
	}
	return a.carryOut(ctx, cancel, c, v, r, taken)
}

// carryOut runs the handler of a proven caller's route and sets the headers
// that it asks for. What is streamed ends the context itself.
func (a *API) carryOut(ctx context.Context, cancel context.CancelFunc, c *fiber.Ctx, v *visit, r *route, taken map[string]string) ([]byte, error) {
	v.route = r.path
	req, err := a.newRequest(c, r, taken)
	if err != nil {
		return nil, err
	}
	body, err := r.run(ctx, v.who, req)
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
		return a.begin(ctx, cancel, c, v, req.stream)
	}
	return body, nil
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
	v := &visit{id: requestID(c), route: unrouted, began: time.Now()}
	a.m.inFlight.Inc()
	c.Set(headerRequestID, v.id)
	werr := a.fail(c, err)
	v.note(c)
	v.sent = len(c.Response().Body())
	a.record(v, err)
	return werr
}

// note keeps what the request itself tells; nothing of c may be used later.
func (v *visit) note(c *fiber.Ctx) {
	v.method, v.address = strings.Clone(c.Method()), strings.Clone(c.IP())
	v.path = clip(string(c.Request().URI().PathOriginal()))
	v.status, v.received = c.Response().StatusCode(), len(c.Request().Body())
}

// record writes the one line of a request and, when the failure is ours, one
// more with its cause.
func (a *API) record(v *visit, err error) {
	took := time.Since(v.began)
	a.m.inFlight.Dec()
	a.m.duration.WithLabelValues(methodLabel(v.method), v.route, strconv.Itoa(v.status)).Observe(took.Seconds())
	a.m.received.Add(float64(v.received))
	a.m.sent.Add(float64(v.sent))
	facts := []slog.Attr{
		slog.String("request", v.id), slog.String("method", v.method), slog.String("route", v.route),
		slog.String("path", v.path), slog.Int("status", v.status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int("received_bytes", v.received), slog.Int("sent_bytes", v.sent), slog.String("address", v.address),
	}
	if v.known {
		facts = append(facts, slog.Int64("member", v.who.Member))
	}
	if err != nil && v.status < 500 && v.broken == "" {
		_, msg := judge(err)
		facts = append(facts, slog.String("refused", clip(msg)))
	}
	if v.broken != "" {
		a.m.broken.WithLabelValues(v.broken).Inc()
		facts = append(facts, slog.String("broken_by", v.broken))
	}
	ctx := context.Background()
	a.log.LogAttrs(ctx, slog.LevelInfo, "request", facts...)
	if v.status >= 500 || v.broken == "server" {
		a.log.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("request", v.id), slog.String("route", v.route), slog.Any("err", err))
	}
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
