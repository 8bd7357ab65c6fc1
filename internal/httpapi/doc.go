// Package httpapi is the HTTP edge: it decodes a request, proves who calls,
// makes one call to an engine and encodes the answer or the failure.
//
// The whole surface is the table in routes.go; paths stand below the instance
// segment and match without regard to case or doubled slashes, names of query
// parameters without regard to case. Every answer is JSON. A failure has one
// form, written in fail.go, the only place where a fault becomes a status:
//
//	{"error": "Unknown AssetType: Storry", "exceptions": [{"message": "…", "position": 10}]}
//
// Engines are reached through the small interfaces in engines.go, which app
// fills. No engine knows HTTP, and nothing of fiber leaves this package: its
// strings and bytes are reused after a handler returns, so what is kept is
// copied.
//
// Spec: interface 4, 5, 7.
package httpapi
