package tracing

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	caller       = "00-" + callersTrace + "-00f067aa0ba902b7-01"
)

// within is the time limit of a test's wait for an expected event.
const within = time.Minute

// recorder returns a tracer that keeps its spans in memory.
func recorder() (*Tracer, *tracetest.InMemoryExporter) {
	kept := tracetest.NewInMemoryExporter()
	return &Tracer{trace.NewTracerProvider(trace.WithSyncer(kept))}, kept
}

// open opens a tracer that sends spans to url.
func open(t testing.TB, url string, failed func(error)) *Tracer {
	t.Helper()
	if b, ok := t.(*testing.B); ok {
		b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	} else {
		t.(*testing.T).Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
	}
	tracer, err := Open(t.Context(), "api", "0.1.0", failed)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// work makes the spans of a write, from the request to the receiver of its delivery.
func work(ctx context.Context, t *Tracer, parent string) (header string) {
	ctx, request := t.StartRequest(ctx, parent)
	within, write := Child(ctx, "write")
	write.Text("alds.write", "0192f0c1-2345-7abc-8def-0123456789ab")
	_, transaction := Child(within, "write transaction")
	transaction.Int("alds.statements", 7)
	transaction.End(nil)
	kept := write.Parent()
	write.End(nil)
	request.End(nil)
	_, attempt := Continue(With(ctx, t), "delivery attempt", Client, kept)
	attempt.End(nil)
	return attempt.Parent()
}

func TestWithoutATracerNothingIsAllocated(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		work(ctx, nil, caller)
		_, span := Start(ctx, "prune")
		span.End(errors.ErrUnsupported)
		_ = Of(ctx).Parent() + Of(ctx).Trace()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTheTraceOfTheCallerIsContinued(t *testing.T) {
	tracer, kept := recorder()
	_, span := tracer.StartRequest(t.Context(), caller)
	if got := span.Parent(); len(got) != 55 || !strings.HasPrefix(got, "00-"+callersTrace+"-") {
		t.Errorf("the span is %q", got)
	}
	span.End(nil)
	if got := kept.GetSpans()[0].Parent; got.SpanID().String() != "00f067aa0ba902b7" || !got.IsRemote() {
		t.Errorf("it is within %+v", got)
	}
}

// TestWhatIsNoTraceparentIsIgnored checks that a request with an invalid traceparent begins a new
// trace.
func TestWhatIsNoTraceparentIsIgnored(t *testing.T) {
	tracer, _ := recorder()
	for name, header := range map[string]string{
		"empty":                   "",
		"a word":                  "hello",
		"zeros":                   "00-00000000000000000000000000000000-0000000000000000-01",
		"no span":                 "00-" + callersTrace + "-0000000000000000-01",
		"upper case":              strings.ToUpper(caller),
		"not hexadecimal":         "00-zzf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"version ff":              "ff" + caller[2:],
		"more than version 00":    caller + "-more",
		"reserved flags":          caller[:53] + "ff",
		"cut":                     caller[:54],
		"blanks":                  " " + caller + " ",
		"zero bytes":              strings.Repeat("\x00", 55),
		"not UTF-8":               strings.Repeat("\xff", 55),
		"SQL":                     "'; DROP TABLE audit; --" + strings.Repeat(" ", 32),
		"hyphens":                 strings.Repeat("-", 55),
		"a later version's, long": "01" + caller[2:] + "-" + strings.Repeat("a", 1<<20),
		"huge":                    strings.Repeat(caller, 1<<15),
	} {
		t.Run(name, func(t *testing.T) {
			_, span := tracer.StartRequest(t.Context(), header)
			if got := span.Parent(); len(got) != 55 || strings.Contains(got, callersTrace) {
				t.Errorf("the span is %q", got)
			}
			if _, span := Continue(With(t.Context(), tracer), "delivery attempt", Client, header); span.On() {
				t.Errorf("%q is continued", span.Parent())
			}
		})
	}
}

// TestALaterVersionOfTraceparentIsRead checks a rule in the specification of traceparent: a later
// version, which may be longer, is read like version 00.
func TestALaterVersionOfTraceparentIsRead(t *testing.T) {
	tracer, _ := recorder()
	_, span := tracer.StartRequest(t.Context(), "01"+caller[2:]+"-more")
	if got := span.Parent(); !strings.HasPrefix(got, "00-"+callersTrace+"-") {
		t.Errorf("the span is %q", got)
	}
}

// TestWhatIsNotSampledLeavesNothing checks that a write that is not sampled leaves no span. It also
// leaves no traceparent for the table audit, so that its deliveries are not traced.
func TestWhatIsNotSampledLeavesNothing(t *testing.T) {
	for name, parent := range map[string]string{"by the caller": caller[:53] + "00", "by the sampler": ""} {
		t.Run(name, func(t *testing.T) {
			kept := tracetest.NewInMemoryExporter()
			tracer := &Tracer{trace.NewTracerProvider(trace.WithSyncer(kept), trace.WithSampler(trace.ParentBased(trace.NeverSample())))}
			if got := work(t.Context(), tracer, parent); got != "" || len(kept.GetSpans()) > 0 {
				t.Errorf("the receiver gets %q, and there are %d spans", got, len(kept.GetSpans()))
			}
		})
	}
}

// TestAnEndpointThatHangsCostsNoMemory checks that spans are dropped when the queue is full,
// without a wait, and that Close respects its time limit.
func TestAnEndpointThatHangsCostsNoMemory(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	idle := senders()
	defer sent(t, idle) // otherwise the remaining spans are sent later, and their errors go to the next tracer
	defer close(release)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "16")
	tracer := open(t, server.URL, func(error) {})
	const requests, most = 50_000, 20 << 20 // all spans of these requests would need some 200 MB
	before := heap()
	for range requests {
		work(t.Context(), tracer, caller)
	}
	if senders() != idle+1 {
		t.Error("it is not seen who sends")
	}
	if more := heap() - before; more > most {
		t.Errorf("%d requests left %d bytes", requests, more)
	}
	ended := make(chan error, 1)
	go func() { ended <- tracer.Close(time.Second) }() // with a limit of 0, the library would not end its senders
	select {
	case err := <-ended:
		if err == nil {
			t.Error("what an endpoint never took counts as sent")
		}
	case <-time.After(within):
		t.Error("it does not close")
	}
}

// senders returns the number of goroutines that send spans.
func senders() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("\ngo.opentelemetry.io/otel/sdk/trace.NewBatchSpanProcessor.func"))
}

// sent waits until the number of goroutines that send spans is not larger than before.
func sent(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(within); senders() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a tracer that was closed goes on sending")
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // it fits
}

// TestAnEndpointThatRefusesIsReported checks that the error of an endpoint that refuses spans is
// reported, and that the report is short even if the answer of the endpoint is long.
func TestAnEndpointThatRefusesIsReported(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, strings.Repeat("no! ", 1<<18), http.StatusBadRequest)
	}))
	defer refusing.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	for name, url := range map[string]string{"400": refusing.URL, "nobody": gone.URL} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 16)
			tracer := open(t, url, func(err error) {
				select {
				case failed <- err:
				default:
				}
			})
			work(t.Context(), tracer, "")
			select {
			case err := <-failed:
				if n := len(err.Error()); n == 0 || n > maxReport+len("…") {
					t.Errorf("%d bytes: %.100s", n, err)
				}
			case <-time.After(within):
				t.Error("nothing is reported")
			}
			_ = tracer.Close(time.Second) // it fails, or has no spans left to send
		})
	}
}

// TestVariablesThatCannotBeReadAreErrors checks that Open returns an error for an invalid variable,
// and that the error contains no credentials.
func TestVariablesThatCannotBeReadAreErrors(t *testing.T) {
	const hush = "hush-hush"
	for name, value := range map[string]string{
		"OTEL_TRACES_SAMPLER":            "sometimes",
		"OTEL_EXPORTER_OTLP_HEADERS":     "api-key " + hush,
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "/there/is/none.pem",
		"OTEL_EXPORTER_OTLP_TIMEOUT":     "soon",
		"OTEL_RESOURCE_ATTRIBUTES":       "team",
		"OTEL_BSP_MAX_QUEUE_SIZE":        "-1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(name, value)
			tracer, err := Open(t.Context(), "api", "0.1.0", func(err error) { t.Error(err) })
			if err == nil {
				t.Fatal(errors.Join(errors.New("it is taken"), tracer.Close(0)))
			}
			if strings.Contains(err.Error(), hush) {
				t.Errorf("it is told: %v", err)
			}
		})
	}
}

// BenchmarkWork measures the cost of the spans of one write: without an endpoint, with an endpoint,
// and with an endpoint but without sampled traces.
func BenchmarkWork(b *testing.B) {
	run := func(name string, tracer func(*testing.B) *Tracer) {
		b.Run(name, func(b *testing.B) {
			t := tracer(b)
			b.ReportAllocs()
			for b.Loop() {
				work(b.Context(), t, "")
			}
			if t != nil {
				_ = t.Close(flushTime) // the sends at the end are not measured
			}
		})
	}
	taking := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer taking.Close()
	run("no endpoint", func(*testing.B) *Tracer { return nil })
	run("endpoint", func(b *testing.B) *Tracer { return open(b, taking.URL, func(error) {}) })
	run("endpoint, none sampled", func(b *testing.B) *Tracer {
		b.Setenv("OTEL_TRACES_SAMPLER", "always_off")
		return open(b, taking.URL, func(error) {})
	})
}
