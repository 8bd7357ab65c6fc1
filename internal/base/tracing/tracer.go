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

// scope is the name of the instrumented code in all spans.
const scope = "github.com/alds-dev/alds"

// flushTime is the maximum duration of Close. Spans that are not sent within this time are lost.
const flushTime = 3 * time.Second

// Tracer sends spans to an endpoint. A nil Tracer makes no spans.
type Tracer struct{ provider *trace.TracerProvider }

// Open returns a tracer that sends spans to the endpoint in the standard OTEL_… variables. The
// OpenTelemetry library also reads service, sampler, headers and certificates from these variables.
// The function failed is called with each send error; the text of the error is cut to a limit. The
// library stores this function in a global variable, so only the function of the last tracer is
// called. Open returns an error if a variable is invalid.
func Open(ctx context.Context, role, version string, failed func(error)) (t *Tracer, err error) {
	r := newReports(failed)
	defer func() {
		if v := recover(); v != nil { // the library panics on OTEL_BSP_MAX_QUEUE_SIZE=-1
			t, err = nil, fmt.Errorf("open the endpoint of traces: %v", v)
		}
		if wrong := r.opened(); err == nil && wrong != nil {
			err = fmt.Errorf("settings of traces (variables OTEL_…): %w", errors.Join(wrong, t.Close(flushTime)))
		}
	}()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the endpoint of traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "alds"), attribute.String("service.version", version), attribute.String("alds.role", role),
	), resource.WithFromEnv()) // the environment comes last and takes precedence
	if err != nil {
		return nil, fmt.Errorf("collect the attributes of traces: %w", err)
	}
	return &Tracer{trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))}, nil
}

// Close sends the remaining spans. within limits the duration of Close, which is never longer than
// three seconds.
func (t *Tracer) Close(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), min(within, flushTime))
	defer cancel()
	return t.provider.Shutdown(ctx)
}

type tracerKey struct{}

// With returns a context in which Start makes spans with a tracer.
func With(ctx context.Context, t *Tracer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, tracerKey{}, t)
}

// Kind is the side of a call that a span describes.
type Kind int

// The kinds of spans.
const (
	Client   = Kind(api.SpanKindClient)
	Consumer = Kind(api.SpanKindConsumer)
)

// Start begins the first span of a trace, for work without a request. It records nothing if
// the context has no tracer.
func Start(ctx context.Context, name string) (context.Context, Span) {
	t, ok := ctx.Value(tracerKey{}).(*Tracer)
	if !ok {
		return ctx, Span{}
	}
	return begin(ctx, t.provider, name, api.WithNewRoot())
}

// Continue begins a span within an earlier span, which may be from another process. parent is the text
// that Span.Parent returns for the earlier span. links are the same kind of text for other spans, to
// which the new span is linked; empty links are ignored. The span records nothing if the context has
// no tracer, or if parent is not valid.
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

// Child begins a span within the span of the context. If the context has no span, the new span
// records nothing.
func Child(ctx context.Context, name string) (context.Context, Span) {
	in := api.SpanFromContext(ctx)
	if !in.IsRecording() {
		return ctx, Span{}
	}
	return begin(ctx, in.TracerProvider(), name)
}

// StartRequest begins the span of a request. It is within the span of the context, or else within
// the caller's span from the header traceparent. An invalid header is ignored. The header
// tracestate is not read: it can have up to 16 KB from the client, and each span would contain
// these and pass them on to receivers.
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

// maxParent is the maximum length, in bytes, of a traceparent that is read. Version 00 has 55
// bytes; later versions may have more.
const maxParent = 256

// contextOf reads a traceparent header. The result is not valid if the text is not a traceparent.
func contextOf(traceparent string) api.SpanContext {
	if traceparent == "" || len(traceparent) > maxParent {
		return api.SpanContext{}
	}
	carrier := propagation.MapCarrier{"traceparent": traceparent}
	return api.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
