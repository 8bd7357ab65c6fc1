package tracing

import (
	"context"
	"sync/atomic"
)

// Request is an HTTP request that is being executed. It is safe for concurrent use.
type Request struct {
	ID    string
	wrote atomic.Pointer[string]
}

type requestKey struct{}

// WithRequest returns the context in which a request is executed.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestID returns the id of the request in a context, or "".
func RequestID(ctx context.Context) string {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r.ID
	}
	return ""
}

// Wrote sets the id of the write that the request in a context has executed or started. It does
// nothing if the context has no request.
func Wrote(ctx context.Context, write string) {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		r.wrote.Store(&write)
	}
}

// Write returns the id that Wrote has set, or "".
func (r *Request) Write() string {
	if id := r.wrote.Load(); id != nil {
		return *id
	}
	return ""
}
