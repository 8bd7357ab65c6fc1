// Package httpapi is the HTTP interface. It authenticates a request, decodes it, calls one
// engine, and encodes the answer or the failure.
//
// The table in routes.go lists all routes. Paths start with the instance. Paths and the names
// of query parameters ignore case, and repeated slashes count once. Most answers are JSON, or
// XML under the paths in format.go. Failures are encoded in fail.go, the only place that maps
// faults to a status. As JSON, a failure is:
//
//	{"error": "Unknown AssetType: Storry", "exceptions": [{"message": "…", "position": 10}]}
//
// The outermost function has the name guarded. It recovers from panics outside of routes
// (survive.go). Inside of guarded, middleware runs in this order: observe (answer, log, metrics),
// recover, wellFormed, knownHost, normalizePath, authenticate (or visit, on an open route) and
// serve. serve admits the request and calls the handler of the route.
//
// Each file of handlers declares the interface of its engine, which package app provides.
// fiber reuses its strings and bytes after a handler returns, so values that live longer are
// copied.
//
// Spec: interface 4, 5, 7.
package httpapi
