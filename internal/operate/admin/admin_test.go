package admin

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func ask(s *Server, path string) (int, string) {
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	b, _ := io.ReadAll(w.Result().Body)
	return w.Code, strings.TrimSpace(string(b))
}

func TestPaths(t *testing.T) {
	r := prometheus.NewRegistry()
	n := prometheus.NewCounter(prometheus.CounterOpts{Name: "alds_admin_test_total", Help: "x"})
	r.MustRegister(n)
	s := New(r, slog.New(slog.DiscardHandler))
	if status, body := ask(s, "/healthz"); status != 200 || body != `{"status":"ok"}` {
		t.Errorf("healthz: %d %s", status, body)
	}
	if status, body := ask(s, "/metrics"); status != 200 || !strings.Contains(body, "alds_admin_test_total 0") {
		t.Errorf("metrics: %d %s", status, body)
	}
	if status, _ := ask(s, "/alds/api/asset"); status != 404 {
		t.Errorf("a path of the interface on the admin listener: status %d, want 404", status)
	}
	s.Drain()
	if status, body := ask(s, "/readyz"); status != 503 || body != `{"status":"stopping"}` {
		t.Errorf("readyz while stopping: %d %s", status, body)
	}
}
