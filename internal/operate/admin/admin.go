package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server serves /healthz, /readyz and /metrics. New returns a Server.
type Server struct {
	ready readiness
	http  *http.Server
}

// New returns a Server that does not listen yet. /readyz answers 503 until SetChecks is called.
func New(metrics *prometheus.Registry, log *slog.Logger) *Server {
	s := &Server{ready: readiness{log: log}}
	s.ready.notReady("checks", errNotChecked)
	metrics.MustRegister(&s.ready)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, report{Status: "ok"})
	})
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", Metrics(metrics))
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s
}

// Metrics returns a handler that answers with the metrics of a registry, as /metrics does.
func Metrics(from *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(from, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// NotReady makes /readyz answer 503 with a reason, until SetChecks or NotReady is called
// again. name is the name of the missing dependency.
func (s *Server) NotReady(name string, reason error) { s.ready.notReady(name, reason) }

// SetChecks replaces the reason of NotReady, or earlier checks. The new checks run
// concurrently, each once a second, until Shutdown. /readyz answers with their last results.
// The process is ready when all checks that are not optional pass.
func (s *Server) SetChecks(checks []Check) { s.ready.watch(checks) }

// Serve serves requests from l until Shutdown. It returns nil after Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve admin: %w", err)
	}
	return nil
}

// Drain makes the process not ready, so that load balancers send no more requests.
func (s *Server) Drain() { s.ready.draining.Store(true) }

// Shutdown ends the checks and stops serving. It waits for running requests until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.ready.end()
	return s.http.Shutdown(ctx)
}

// report is the body of /healthz and /readyz. Example: {"status": "degraded", "checks": {"database":
// "ok", "redis": "down"}, "ageSeconds": 0.4}.
type report struct {
	Status string            `json:"status"` // ok, degraded, not ready, stopping
	Checks map[string]string `json:"checks,omitempty"`
	Age    float64           `json:"ageSeconds,omitempty"` // seconds since the oldest result of a check
}

const notReady = "not ready"

// readyz answers with the last results of the checks. The status is 503 if the process is not
// ready.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	rep, ready := s.ready.report()
	status := http.StatusOK
	if !ready {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, rep)
}

func answer(w http.ResponseWriter, status int, rep report) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(rep)
}
