package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/alds-dev/alds/internal/fault"
)

// Check tests one dependency of the process.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
	// Optional means that the process works without it, if more slowly: its
	// failure is reported and leaves the process ready.
	Optional bool
}

// checkTimeout bounds all checks of one request together.
const checkTimeout = 2 * time.Second

// Server serves the three paths; make it with New.
type Server struct {
	checks   atomic.Pointer[[]Check]
	log      *slog.Logger
	draining atomic.Bool
	http     *http.Server
}

// New returns a Server that is not serving yet and is ready when all checks pass.
func New(checks []Check, metrics prometheus.Gatherer, log *slog.Logger) *Server {
	s := &Server{log: log}
	s.SetChecks(checks)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, report{Status: "ok"}) })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s
}

// SetChecks replaces the checks of readiness.
func (s *Server) SetChecks(checks []Check) { s.checks.Store(&checks) }

// Serve serves requests from l until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve admin: %w", err)
	}
	return nil
}

// Drain makes the process not ready, so that balancers send it no more requests.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown stops serving.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// report is the body of /healthz and /readyz.
// Shape: {"status": "degraded", "checks": {"database": "ok", "redis": "down"}}.
type report struct {
	Status string            `json:"status"` // ok, degraded, not ready, stopping
	Checks map[string]string `json:"checks,omitempty"`
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		answer(w, http.StatusServiceUnavailable, report{Status: "stopping"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	checks := *s.checks.Load()
	rep, status := report{Status: "ok", Checks: make(map[string]string, len(checks))}, http.StatusOK
	for i, err := range runAll(ctx, checks) {
		c := checks[i]
		if err == nil {
			rep.Checks[c.Name] = "ok"
			continue
		}
		rep.Checks[c.Name] = reason(err)
		s.log.WarnContext(ctx, "check failed", "check", c.Name, "err", err)
		if !c.Optional {
			rep.Status, status = "not ready", http.StatusServiceUnavailable
		} else if status == http.StatusOK {
			rep.Status = "degraded"
		}
	}
	answer(w, status, rep)
}

func runAll(ctx context.Context, checks []Check) []error {
	errs := make([]error, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { errs[i] = c.Run(ctx) })
	}
	wg.Wait()
	return errs
}

// reason is the message of a failed check, without a cause that could contain an
// address.
func reason(err error) string {
	if fault.KindOf(err) == fault.Internal {
		return "failed"
	}
	return fault.Public(err)
}

func answer(w http.ResponseWriter, status int, rep report) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(rep)
}
