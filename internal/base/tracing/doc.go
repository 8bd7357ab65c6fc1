// Package tracing follows a change from its request to its deliveries.
//
// A Request is in the context of an HTTP request. A committed write sets its id there, so
// that one log line has both ids. The id of the write is also in the audit, in events, and in
// the log lines of fan-out and delivery.
//
// A Tracer makes OpenTelemetry spans if an endpoint for them is set. Without one there is no
// Tracer, and the functions that begin a span return one that records nothing. All other work
// is the same.
//
//	ctx, span := tracing.Child(ctx, "write") // within a request or task with a span
//	defer func() { span.End(err) }()
//	span.Text("alds.write", id)
//
// Spans have routes, types, counts and ids, never what a client has sent. Only this package
// imports the library.
package tracing
