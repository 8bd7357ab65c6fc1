package db

import "context"

// Consistency is what a read on a view of Elsewhere has to find.
type Consistency uint8

const (
	// OwnWrites finds what its member has written, on whichever process, and the changes
	// of the rights and of the model that it goes by.
	OwnWrites Consistency = iota
	// Eventual finds those changes, and else what the server has, which may lag.
	Eventual
	// Strong finds all that was committed when the read began: it is one of the writer.
	Strong
)

type consistencyKey struct{}

// WithConsistency returns a context whose reads need not find what OwnWrites does, or have
// to find more.
func WithConsistency(ctx context.Context, c Consistency) context.Context {
	return context.WithValue(ctx, consistencyKey{}, c)
}

func consistencyOf(ctx context.Context) Consistency {
	c, _ := ctx.Value(consistencyKey{}).(Consistency)
	return c
}
