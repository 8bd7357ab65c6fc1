package db

import "context"

// Consistency says which writes a read must see if it uses the view that DB.Elsewhere returns.
type Consistency uint8

const (
	// OwnWrites means that a read sees everything that its member has written, in any process. It
	// also sees all changes of the member's rights and of the model.
	OwnWrites Consistency = iota
	// Eventual means that a read sees all changes of rights and of the model. Other data may be
	// older.
	Eventual
	// Strong means that a read sees everything that was committed before it began. It runs on the
	// writer, which is the primary server.
	Strong
)

type consistencyKey struct{}

// WithConsistency returns a context whose reads have the consistency c. Without it, reads have
// OwnWrites.
func WithConsistency(ctx context.Context, c Consistency) context.Context {
	return context.WithValue(ctx, consistencyKey{}, c)
}

func consistencyOf(ctx context.Context) Consistency {
	c, _ := ctx.Value(consistencyKey{}).(Consistency)
	return c
}
