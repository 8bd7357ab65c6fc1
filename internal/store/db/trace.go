package db

import (
	"context"
	"sync/atomic"

	"github.com/alds-dev/alds/internal/base/tracing"
)

// traced begins a span for a transaction, within the span of ctx. It returns the new context and a
// function that runs fn and counts its statements. The function end gets the error of the
// transaction, ends the span with this error, and returns it.
func (d *DB) traced(ctx context.Context, name string, fn func(*Tx) error) (within context.Context, counted func(*Tx) error, end func(error) error) {
	ctx, span := tracing.Child(ctx, name)
	if !span.On() {
		return ctx, fn, untraced
	}
	var runs, statements atomic.Int64
	counted = func(t *Tx) error {
		runs.Add(1)
		defer func() { statements.Add(int64(t.ran)) }()
		return fn(t)
	}
	return ctx, counted, func(err error) error {
		span.Text("db.system.name", d.Dialect.Name)
		span.Int("alds.statements", int(statements.Load()))
		span.Int("alds.runs", int(runs.Load())) // more than one: the transaction was retried
		span.End(err)
		return err
	}
}

func untraced(err error) error { return err }
