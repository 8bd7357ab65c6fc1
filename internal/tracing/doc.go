// Package tracing follows a change from the request that made it to its deliveries.
//
// A Request stands in the context of an HTTP request. Who commits a write notes its id
// there, so that the log has both ids in one line; the id of the write is also in the
// audit, in events and in the log lines of fan-out and delivery.
//
// A Tracer makes spans of OpenTelemetry, where an endpoint is set that takes them. All
// work is the same without one: there is no Tracer, and what begins a span returns one
// that records nothing.
//
//	ctx, span := tracing.Child(ctx, "write") // within a request or task that has one
//	defer func() { span.End(err) }()
//	span.Text("alds.write", id)
//
// Spans have routes, types, counts and ids, never what a client has sent. This is the
// only package that knows the library.
package tracing
