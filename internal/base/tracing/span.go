package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"
)

// Span is a piece of work in a trace. The zero Span records nothing.
type Span struct{ s api.Span }

// On reports whether the span is recorded.
func (s Span) On() bool { return s.s != nil && s.s.IsRecording() }

// Name renames the span.
func (s Span) Name(name string) {
	if s.On() {
		s.s.SetName(name)
	}
}

// Text sets an attribute, unless the text is empty.
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

// Fail marks the span as failed. It has no error as an argument, because the text of an error may
// contain data that a client has sent.
func (s Span) Fail() {
	if s.On() {
		s.s.SetStatus(codes.Error, "")
	}
}

// End ends the span. If err is not nil, it marks the span as failed.
func (s Span) End(err error) {
	if s.s == nil {
		return
	}
	if err != nil {
		s.Fail()
	}
	s.s.End()
}

// Trace returns the id of the trace, or "" if nothing is recorded.
func (s Span) Trace() string {
	if !s.On() {
		return ""
	}
	return s.s.SpanContext().TraceID().String()
}

// Parent returns the span in the form of the traceparent header, 55 characters, or "" if
// nothing is recorded.
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
