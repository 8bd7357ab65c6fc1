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

// Check is one thing a process needs.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
	// Optional says that the process does its work without it, if more slowly:
	// its failure is shown and leaves the process ready.
	Optional bool
}

// checkTimeout bounds all checks of one question together.
const checkTimeout = 2 * time.Second

// Server answers the three paths; make it with New.
type Server struct {
	checks   atomic.Pointer[[]Check]
	log      *slog.Logger
	draining atomic.Bool
	http     *http.Server
}

// New builds a Server that is not serving yet. checks are what readiness needs,
// until Watch says otherwise.
func New(checks []Check, metrics prometheus.Gatherer, log *slog.Logger) *Server {
	s := &Server{log: log}
	s.Watch(checks)
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

// Watch makes readiness depend on checks from now on, and on no others.
func (s *Server) Watch(checks []Check) { s.checks.Store(&checks) }

// Serve answers requests from l until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve admin: %w", err)
	}
	return nil
}

// Drain makes the process not ready, so that nobody sends it new work.
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

// reason is what a failed check may say: a fault's message, never a cause that
// could hold an address.
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
