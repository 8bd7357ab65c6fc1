package app

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/app/config"
)

// TestWithoutAnEndpointNothingRunsForTraces checks that without an endpoint no goroutine of the
// tracing library runs. With an endpoint such goroutines run, which shows that the test can find
// them.
func TestWithoutAnEndpointNothingRunsForTraces(t *testing.T) {
	taking := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer taking.Close()
	for name, endpoint := range map[string]string{"without": "", "with": taking.URL} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint) // the library reads it itself
			start(t, map[string]string{"ALDS_ADDR": "127.0.0.1:0", "ALDS_DATA_DIR": t.TempDir(), "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, Standalone)
			all := make([]byte, 16<<20)
			all = all[:runtime.Stack(all, true)]
			if runs := bytes.Contains(all, []byte("go.opentelemetry.io/")); runs != (endpoint != "") {
				t.Errorf("a goroutine is of the library of traces: %v", runs)
			}
		})
	}
}

// TestTracesAreFlushedWithinTheGrace checks the rest of the grace period, which is the time for
// sending the last traces.
func TestTracesAreFlushedWithinTheGrace(t *testing.T) {
	s := &service{Installation: &Installation{cfg: config.Config{ShutdownGrace: time.Hour}}}
	if got := s.restOfGrace(); got <= 0 {
		t.Errorf("%s before it was told to end", got)
	}
	for ago, most := range map[time.Duration]time.Duration{2 * time.Hour: 0, time.Hour - time.Minute: time.Minute} {
		s.told.Store(time.Now().Add(-ago).UnixNano())
		if got := s.restOfGrace(); got > most || got < 0 {
			t.Errorf("%s, %s after it was told to end", got, ago)
		}
	}
}
