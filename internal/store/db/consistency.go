package db

import "context"

// Consistency says which writes a read on a view of Elsewhere must see.
type Consistency uint8

const (
	// OwnWrites sees what its member has written, in any process, and all changes of the
	// member's rights and of the model.
	OwnWrites Consistency = iota
	// Eventual sees all changes of rights and of the model; other data may lag.
	Eventual
	// Strong sees all that was committed when the read began. It reads from the writer.
	Strong
)

type consistencyKey struct{}

// WithConsistency returns a context whose reads have another consistency than OwnWrites.
func WithConsistency(ctx context.Context, c Consistency) context.Context {
	return context.WithValue(ctx, consistencyKey{}, c)
}

func consistencyOf(ctx context.Context) Consistency {
	c, _ := ctx.Value(consistencyKey{}).(Consistency)
	return c
}
