// Package tracing follows a change from its request to its deliveries.
//
// The context of an HTTP request contains a Request. A committed write stores its id in the
// Request, so that one log line has the id of the request and the id of the write. The id of the
// write is also in the table audit, in events, and in the log lines of workers that create and send
// events.
//
// A Tracer makes OpenTelemetry spans if an endpoint for them is set. Without an endpoint there is
// no Tracer, and the functions that begin a span return a span that records nothing. Everything
// else works the same way.
//
//	ctx, span := tracing.Child(ctx, "write") // within a request or task with a span
//	defer func() { span.End(err) }()
//	span.Text("alds.write", id)
//
// Spans contain routes, types, counts and ids, never data that a client has sent. Only this
// package imports the OpenTelemetry library.
package tracing
