package trail

import "context"

// The origins of events that no client caused.
const (
	CommandLine = "command line"
	Server      = "server"
)

// Origin is the member who acts, and the address from which the member acts.
type Origin struct {
	Member  int64  // stored id; 0: no member is authenticated
	Address string // address of the client, or CommandLine or Server; empty: unknown
	Tool    string // what the client calls the function that sent the request; empty: unknown
}

type originKey struct{}

// With returns a context whose events have the origin o.
func With(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of a context, or the zero Origin.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// from returns e. If e has no actor or no address, from sets it to that of ctx.
func (e Event) from(ctx context.Context) Event {
	o := OriginOf(ctx)
	if e.Actor == 0 {
		e.Actor = o.Member
	}
	if e.Address == "" {
		e.Address = o.Address
	}
	return e
}
