package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// record counts an exchange and logs its line. If the server failed, it logs a second line
// with the cause.
func (a *API) record(x *exchange, err error) {
	took := time.Since(x.began)
	x.recorded = true
	trace := x.span.Trace()
	x.endSpan()
	a.m.inFlight.Dec()
	a.m.duration.WithLabelValues(methodLabel(x.method), x.route, strconv.Itoa(x.status)).Observe(took.Seconds())
	a.m.received.Add(float64(x.received))
	a.m.sent.Add(float64(x.sent))
	unlogged := 0
	if x.overloaded(err) {
		var ok bool
		if unlogged, ok = a.refusals.next(time.Now()); !ok {
			return
		}
	}
	attrs := []slog.Attr{
		slog.String("request", x.ID), slog.String("method", x.method), slog.String("route", x.route),
		slog.String("path", x.path), slog.Int("status", x.status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.Int("received_bytes", x.received), slog.Int("sent_bytes", x.sent), slog.String("address", x.client),
	}
	if id := x.Write(); id != "" {
		attrs = append(attrs, slog.String("write", id))
	}
	if trace != "" {
		attrs = append(attrs, slog.String("trace", trace))
	}
	if x.authenticated {
		attrs = append(attrs, slog.Int64("member", x.who.Member))
	}
	if err != nil && (x.status < 500 || selfExplaining(err)) && x.brokenBy == "" {
		_, msg := statusOf(err)
		attrs = append(attrs, slog.String("refused", clip(withoutValues(msg))))
	}
	if unlogged > 0 {
		attrs = append(attrs, slog.Int("unlogged", unlogged))
	}
	if x.brokenBy != "" {
		a.m.broken.WithLabelValues(x.brokenBy).Inc()
		attrs = append(attrs, slog.String("broken_by", x.brokenBy))
	}
	ctx := context.Background()
	a.log.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
	if x.status >= 500 && err != nil && x.brokenBy == "" && !selfExplaining(err) || x.brokenBy == "server" {
		a.log.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("request", x.ID), slog.String("route", x.route), slog.Any("err", err))
	}
}

// endSpan ends the trace span of an exchange. The attributes of the span contain neither the
// path nor the parameters of the request.
func (x *exchange) endSpan() {
	if !x.span.On() {
		return
	}
	method := methodLabel(x.method)
	x.span.Name(method + " " + x.route)
	x.span.Text("http.request.method", method)
	x.span.Text("http.route", x.route)
	x.span.Int("http.response.status_code", x.status)
	x.span.Text("alds.request", x.ID)
	x.span.Text("alds.write", x.Write())
	x.span.Text("alds.broken_by", x.brokenBy)
	if x.status >= 500 {
		x.span.Fail()
	}
	x.span.End(nil)
}

// selfExplaining reports whether a failure has no cause to log besides its message. That is
// true of refusals under overload.
func selfExplaining(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Kind == fault.Transient && f.Err == nil
}

// methodLabel returns the method as a metric label. All unknown methods have the same label.
func methodLabel(m string) string {
	switch m {
	case methodGet, methodHead, methodPost, methodSearch:
		return m
	}
	return "other"
}

// clip cuts a text of a client to 300 bytes for the log.
func clip(s string) string {
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// quoted matches a quoted value of a filter, even if the closing quote is missing. It also
// matches the name of an anchor in a message of the YAML parser. The parser treats any text
// after a * as the name of an anchor, so that text may also be a value.
var quoted = regexp.MustCompile(`([=<>~,]\s*|anchor )(?:'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$))`)

// withoutValues removes values of the client from a message before it is logged: a value may
// be a password in the wrong place.
func withoutValues(msg string) string { return quoted.ReplaceAllString(msg, "$1'…'") }
