package tracing

import (
	"errors"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// maxReport bounds the text of what the library reports; an endpoint's whole answer,
// of megabytes, may be in it. Unit: bytes.
const maxReport = 500

// reports are what the library reports: collected while a tracer is opened, then passed
// on.
type reports struct {
	failed func(error)

	mu    sync.Mutex
	open  bool
	wrong []error
}

func newReports(failed func(error)) *reports {
	r := &reports{failed: failed}
	otel.SetErrorHandler(r)
	otel.SetLogger(logr.New(reportSink{r}))
	return r
}

// Handle takes an error of the library.
func (r *reports) Handle(err error) {
	if text := err.Error(); len(text) > maxReport {
		err = errors.New(text[:maxReport] + "…")
	}
	r.mu.Lock()
	if !r.open {
		r.wrong = append(r.wrong, err)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	r.failed(err)
}

// opened ends the collection, and returns what was collected.
func (r *reports) opened() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = true
	return errors.Join(r.wrong...)
}

// reportSink takes the library's log of errors. Its values are left out: they may be
// credentials, as those of OTEL_EXPORTER_OTLP_HEADERS.
type reportSink struct{ r *reports }

// Init does nothing.
func (reportSink) Init(logr.RuntimeInfo) {}

// Enabled reports that only errors are taken.
func (reportSink) Enabled(int) bool { return false }

// Info does nothing.
func (reportSink) Info(int, string, ...any) {}

// Error takes an error. The one of an escape has a part of the value.
func (s reportSink) Error(err error, message string, _ ...any) {
	if err == nil || message == "escape header value" {
		s.r.Handle(errors.New(message))
		return
	}
	s.r.Handle(errors.New(message + ": " + err.Error()))
}

// WithValues returns the same sink.
func (s reportSink) WithValues(...any) logr.LogSink { return s }

// WithName returns the same sink.
func (s reportSink) WithName(string) logr.LogSink { return s }
