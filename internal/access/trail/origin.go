package trail

import "context"

// The origins of events that no client caused.
const (
	CommandLine = "command line"
	Server      = "server"
)

// Origin is the member on whose behalf something is done, and the address.
type Origin struct {
	Member  int64  // stored id; 0: no member is authenticated
	Address string // of the client, CommandLine or Server; empty: unknown
}

type originKey struct{}

// With returns a context in which events have an origin.
func With(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of a context, or the zero Origin.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// from fills in the actor and the address of an event that has none.
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
