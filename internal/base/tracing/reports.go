package tracing

import (
	"errors"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// maxReport is the maximum length, in bytes, of an error text from the OpenTelemetry library. Longer
// texts are cut, because a text may contain an endpoint's whole answer of megabytes.
const maxReport = 500

// reports receives the errors of the OpenTelemetry library. While a tracer is being opened, it
// collects the errors in the field wrong. Afterwards it passes each new error to the function failed.
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

// Handle receives an error of the OpenTelemetry library.
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

// opened ends the collection and returns the collected errors.
func (r *reports) opened() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = true
	return errors.Join(r.wrong...)
}

// reportSink receives the errors that the OpenTelemetry library logs. It drops the key-value pairs
// of a log line, which may be credentials, such as those of OTEL_EXPORTER_OTLP_HEADERS.
type reportSink struct{ r *reports }

// Init does nothing.
func (reportSink) Init(logr.RuntimeInfo) {}

// Enabled returns false, so that only errors are logged.
func (reportSink) Enabled(int) bool { return false }

// Info does nothing.
func (reportSink) Info(int, string, ...any) {}

// Error receives an error. If a header value could not be unescaped, it drops the cause, because
// the cause contains a part of the value.
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
