package tracing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// scope names who makes the spans.
const scope = "github.com/alds-dev/alds"

// flushTime is how long Close may take: what is not sent by then is lost.
const flushTime = 3 * time.Second

// Tracer sends spans to an endpoint. A nil Tracer makes none.
type Tracer struct{ provider *trace.TracerProvider }

// Open returns a tracer that sends to the endpoint of the standard variables OTEL_…,
// which the library reads: service, sampler, headers, certificates. failed is called
// with what cannot be sent, in a text of bounded length; the library keeps it in a
// global, so that of the last tracer counts. Errors: variables that cannot be read.
func Open(ctx context.Context, role, version string, failed func(error)) (t *Tracer, err error) {
	r := newReports(failed)
	defer func() {
		if v := recover(); v != nil { // a queue of OTEL_BSP_MAX_QUEUE_SIZE=-1
			t, err = nil, fmt.Errorf("open the endpoint of traces: %v", v)
		}
		if wrong := r.opened(); err == nil && wrong != nil {
			err = fmt.Errorf("variables OTEL_… of traces: %w", errors.Join(wrong, t.Close(flushTime)))
		}
	}()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the endpoint of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "alds"), attribute.String("service.version", version), attribute.String("alds.role", role),
	), resource.WithFromEnv()) // what the environment says comes last, and counts
	if err != nil {
		return nil, fmt.Errorf("describe the process to the endpoint of traces: %w", err)
	}
	return &Tracer{trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))}, nil
}

// Close sends what is left, for as long as within, and three seconds at most.
func (t *Tracer) Close(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), min(within, flushTime))
	defer cancel()
	return t.provider.Shutdown(ctx)
}

type tracerKey struct{}

// With returns a context in which Start makes spans of a tracer.
func With(ctx context.Context, t *Tracer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, tracerKey{}, t)
}

// Kind is on which side of a call a span is.
type Kind int

// The kinds of spans.
const (
	Client   = Kind(api.SpanKindClient)
	Consumer = Kind(api.SpanKindConsumer)
)

// Start begins a span of work that nobody has asked for: the first of a trace. It
// records nothing where the context has no tracer.
func Start(ctx context.Context, name string) (context.Context, Span) {
	t, ok := ctx.Value(tracerKey{}).(*Tracer)
	if !ok {
		return ctx, Span{}
	}
	return begin(ctx, t.provider, name, api.WithNewRoot())
}

// Continue begins a span within one of another process, or of a time before, whose
// Parent it was. links are Parents of spans that do the same work; empty ones are left
// out. It records nothing where the context has no tracer, or parent is none.
func Continue(ctx context.Context, name string, kind Kind, parent string, links ...string) (context.Context, Span) {
	t, ok := ctx.Value(tracerKey{}).(*Tracer)
	if !ok {
		return ctx, Span{}
	}
	from := contextOf(parent)
	if !from.IsValid() {
		return ctx, Span{}
	}
	options := []api.SpanStartOption{api.WithSpanKind(api.SpanKind(kind))}
	for _, link := range links {
		if to := contextOf(link); to.IsValid() {
			options = append(options, api.WithLinks(api.Link{SpanContext: to}))
		}
	}
	return begin(api.ContextWithRemoteSpanContext(ctx, from), t.provider, name, options...)
}

// Child begins a span within that of the context. It records nothing where there is
// none.
func Child(ctx context.Context, name string) (context.Context, Span) {
	in := api.SpanFromContext(ctx)
	if !in.IsRecording() {
		return ctx, Span{}
	}
	return begin(ctx, in.TracerProvider(), name)
}

// StartRequest begins the span of a request: within that of the context, else within
// that of the caller, whose header traceparent is given. What is none is ignored. The
// header tracestate is not read: it has what a client has written, up to 16 KB in each
// span, and would be passed on to receivers.
func (t *Tracer) StartRequest(ctx context.Context, traceparent string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	if !api.SpanContextFromContext(ctx).IsValid() {
		if from := contextOf(traceparent); from.IsValid() {
			ctx = api.ContextWithRemoteSpanContext(ctx, from)
		}
	}
	return begin(ctx, t.provider, "request", api.WithSpanKind(api.SpanKindServer))
}

func begin(ctx context.Context, p api.TracerProvider, name string, options ...api.SpanStartOption) (context.Context, Span) {
	ctx, s := p.Tracer(scope).Start(ctx, name, options...)
	return ctx, Span{s}
}

// maxParent is the longest traceparent that is read; version 00 has 55 bytes, and later
// ones may have more.
const maxParent = 256

// contextOf reads the form of the header; what is none is not valid.
func contextOf(traceparent string) api.SpanContext {
	if traceparent == "" || len(traceparent) > maxParent {
		return api.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": traceparent}
	return api.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
