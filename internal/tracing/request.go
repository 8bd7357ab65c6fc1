package tracing

import (
	"context"
	"sync/atomic"
)

// Request is an HTTP request that is executed. It is safe for concurrent use.
type Request struct {
	ID    string
	wrote atomic.Pointer[string]
}

type requestKey struct{}

// WithRequest returns a context in which a request is executed.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestID returns the id of the request of a context; empty where it has none.
func RequestID(ctx context.Context) string {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r.ID
	}
	return ""
}

// Wrote notes the id of the write that the request of a context has made, or that it
// has asked for. It does nothing where the context has no request.
func Wrote(ctx context.Context, write string) {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		r.wrote.Store(&write)
	}
}

// Write returns the id of the request's write; empty where it has made none.
func (r *Request) Write() string {
	if id := r.wrote.Load(); id != nil {
		return *id
	}
	return ""
}
