package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"
)

// Span is a piece of work. The zero Span records nothing.
type Span struct{ s api.Span }

// On reports whether anything is recorded.
func (s Span) On() bool { return s.s != nil && s.s.IsRecording() }

// Name renames the span.
func (s Span) Name(name string) {
	if s.On() {
		s.s.SetName(name)
	}
}

// Text sets an attribute; an empty text sets none.
func (s Span) Text(name, value string) {
	if value != "" && s.On() {
		s.s.SetAttributes(attribute.String(name, value))
	}
}

// Int sets an attribute.
func (s Span) Int(name string, value int) {
	if s.On() {
		s.s.SetAttributes(attribute.Int(name, value))
	}
}

// Fail marks the span as failed. It takes no error: its text may have what a client has
// sent.
func (s Span) Fail() {
	if s.On() {
		s.s.SetStatus(codes.Error, "")
	}
}

// End ends the span, which has failed unless err is nil.
func (s Span) End(err error) {
	if s.s == nil {
		return
	}
	if err != nil {
		s.Fail()
	}
	s.s.End()
}

// Trace returns the id of the trace; empty where nothing is recorded.
func (s Span) Trace() string {
	if !s.On() {
		return ""
	}
	return s.s.SpanContext().TraceID().String()
}

// Parent returns the span as the header traceparent names it, in 55 characters; empty
// where nothing is recorded.
func (s Span) Parent() string {
	if !s.On() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(api.ContextWithSpan(context.Background(), s.s), carrier)
	return carrier["traceparent"]
}

// Of returns the span of a context.
func Of(ctx context.Context) Span { return Span{api.SpanFromContext(ctx)} }
