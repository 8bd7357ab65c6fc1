package db

import "context"

type guardKey struct{}

// WithGuard returns a context whose write transactions call guard just before their commit. If
// guard returns an error, the transaction is rolled back. guard must not use the transaction,
// because it reads what others have committed.
func WithGuard(ctx context.Context, guard func(context.Context) error) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

// guarded returns a function that runs fn and then the guard of the context.
func guarded(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	guard, ok := ctx.Value(guardKey{}).(func(context.Context) error)
	if !ok {
		return fn
	}
	return func(tx *Tx) error {
		if err := fn(tx); err != nil || tx.aborted != nil {
			return err
		}
		return guard(tx.ctx)
	}
}
