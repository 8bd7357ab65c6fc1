package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/fault"
)

func ask(s *Server, path string) (int, string) {
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	b, _ := io.ReadAll(w.Result().Body)
	return w.Code, strings.TrimSpace(string(b))
}

func TestReady(t *testing.T) {
	fine := Check{Name: "database", Run: func(context.Context) error { return nil }}
	down := Check{Name: "database", Run: func(context.Context) error {
		return fault.Transientf(errors.New("dial root:pw@db"), "the database does not answer")
	}}
	odd := Check{Name: "schema", Run: func(context.Context) error { return errors.New("secret detail") }}
	slow := Check{Name: "redis", Run: func(context.Context) error { return errors.New("no") }, Optional: true}
	for _, c := range []struct {
		why    string
		checks []Check
		status int
		body   string
	}{
		{"all is well", []Check{fine}, 200, `{"status":"ok","checks":{"database":"ok"}}`},
		{"what is needed is down", []Check{down, slow}, 503, `{"status":"not ready","checks":{"database":"the database does not answer","redis":"failed"}}`},
		{"what helps is down", []Check{fine, slow}, 200, `{"status":"degraded","checks":{"database":"ok","redis":"failed"}}`},
		{"an error nobody classified is not shown", []Check{odd}, 503, `{"status":"not ready","checks":{"schema":"failed"}}`},
	} {
		s := New(c.checks, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		if status, body := ask(s, "/readyz"); status != c.status || body != c.body {
			t.Errorf("%s: %d %s", c.why, status, body)
		}
	}
}

func TestPaths(t *testing.T) {
	r := prometheus.NewRegistry()
	n := prometheus.NewCounter(prometheus.CounterOpts{Name: "alds_admin_test_total", Help: "x"})
	r.MustRegister(n)
	s := New(nil, r, slog.New(slog.DiscardHandler))
	if status, body := ask(s, "/healthz"); status != 200 || body != `{"status":"ok"}` {
		t.Errorf("healthz: %d %s", status, body)
	}
	if status, body := ask(s, "/metrics"); status != 200 || !strings.Contains(body, "alds_admin_test_total 0") {
		t.Errorf("metrics: %d %s", status, body)
	}
	if status, _ := ask(s, "/alds/api/asset"); status != 404 {
		t.Errorf("the interface on the admin listener: %d", status)
	}
	s.Drain()
	if status, body := ask(s, "/readyz"); status != 503 || body != `{"status":"stopping"}` {
		t.Errorf("readyz while stopping: %d %s", status, body)
	}
}
