// Package httpapi is the HTTP interface: it authenticates a request, decodes it,
// calls one engine and encodes the answer or the failure.
//
// The table in routes.go lists all routes. Paths start with the instance and
// ignore case and doubled slashes; names of query parameters ignore case. Every
// answer is JSON. A failure has one form, and only fail.go maps faults to a
// status:
//
//	{"error": "Unknown AssetType: Storry", "exceptions": [{"message": "…", "position": 10}]}
//
// Around all stands guarded, which survives what panics outside of a route (survive.go).
// Middleware runs in this order: observe (answer, log, metrics), recover,
// wellFormed, normalizePath, authenticate, and serve, which admits the request
// and calls the route's handler.
//
// Each file of handlers declares the interface of its engine, which app provides.
// fiber reuses its strings and bytes after a handler returns: what lives longer is
// copied.
//
// Spec: interface 4, 5, 7.
package httpapi
