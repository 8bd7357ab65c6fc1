package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/base/tracing"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/query/find"
)

// breaking is a log handler that panics at the line of a request. This line is logged outside
// of all routes.
type breaking struct{ slog.Handler }

func (b breaking) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "request" {
		panic("the log broke")
	}
	return b.Handler.Handle(ctx, r)
}

// survives checks that a panic was counted and logged, and that all resources are free.
func survives(t *testing.T, a *API, log string) {
	t.Helper()
	if n := testutil.ToFloat64(a.m.panics); n != 1 {
		t.Errorf("%v panics counted", n)
	}
	if n := testutil.ToFloat64(a.m.inFlight); n != 0 {
		t.Errorf("%v requests are still counted as running", n)
	}
	if !strings.Contains(log, "the log broke") || !strings.Contains(log, `"request":"abc-1"`) {
		t.Errorf("the log lacks the cause or the request: %s", log)
	}
}

// TestPanicOutsideOfRoutes checks that a panic outside of a route ends the request, but not
// the process.
func TestPanicOutsideOfRoutes(t *testing.T) {
	for _, c := range []struct{ method, path string }{
		{"POST", "/alds/query.v1"}, {"GET", "/alds/nowhere"}, {"DELETE", "/alds/query.v1"}, {"BREW", "/alds/query.v1"},
	} {
		var log bytes.Buffer
		a := newAPI(engines{}, &log)
		a.log = slog.New(breaking{a.log.Handler()})
		resp, body := call(t, a, c.method, c.path, `{"from": "Story"}`, "X-Request-Id", "abc-1")
		if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, `"internal error"`) || !resp.Close {
			t.Errorf("%s: %d %s, closed %v", c.method, resp.StatusCode, body, resp.Close)
		}
		survives(t, a, log.String())
	}
}

// TestPanicOfRelease checks that all functions of an exchange are called on release, although
// one of them panics.
func TestPanicOfRelease(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(engines{}, &log)
	released := 0
	x := &exchange{Request: tracing.Request{ID: "abc-1"}}
	x.onRelease(func() { released++ })
	x.onRelease(func() { panic("the log broke") })
	x.onRelease(func() { released++ })
	a.m.inFlight.Inc()
	_ = a.closed(x, func() error { x.release(); return nil })
	if released != 2 {
		t.Errorf("%d released", released)
	}
	survives(t, a, log.String())
}

// TestPanicAfterStream checks a panic when a stream is closed. The server closes it outside of the
// route.
func TestPanicAfterStream(t *testing.T) {
	s := newStreaming(t, func(_ context.Context, flush find.Flush) ([]byte, error) { return flush(part) }, 0,
		func(log slog.Handler) slog.Handler { return breaking{log} })
	resp := s.get()
	_, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close(), s.Shutdown(t.Context()), <-s.served)
	if err != nil {
		t.Error(err)
	}
	if n := testutil.ToFloat64(s.m.panics); n != 1 || !strings.Contains(s.log.String(), "the log broke") {
		t.Errorf("%v panics counted\n%s", n, s.log.String())
	}
}

// TestPanicOfLiveStream checks a panic in the engine of a live stream, which runs outside of
// the route.
func TestPanicOfLiveStream(t *testing.T) {
	s := &script{page: func(n int64) (feed.Page, error) {
		if n == 2 {
			panic("the engine broke")
		}
		return nothing(n)
	}}
	f := newFollowing(t, s, nil)
	resp, err := f.ask("after=0", true)
	if err != nil {
		t.Fatal(err)
	}
	s.moves <- struct{}{}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ended with %v", err)
	}
	if err := errors.Join(resp.Body.Close(), f.Shutdown(t.Context()), <-f.served); err != nil {
		t.Error(err)
	}
	log := f.log.String()
	if n := testutil.ToFloat64(f.m.panics); n != 1 || !strings.Contains(log, "the engine broke") || !strings.Contains(log, `"broken_by":"server"`) {
		t.Errorf("%v panics counted\n%s", n, log)
	}
}
