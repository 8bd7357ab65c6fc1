package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/meta"
)

// copyWhole makes a copy of an asset with its tasks and tests.
func (o *operations) copyWhole(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	made, err := o.copier.copyRow(ctx, w)
	if err != nil {
		return nil, err
	}
	below, err := o.loaded.childrenOf(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, child := range below {
		if _, err := o.copier.copyChild(ctx, child, made); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// copyShallow makes a copy of an asset without what hangs on it.
func (o *operations) copyShallow(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	return o.copier.copyRow(ctx, w)
}

// split makes a copy that takes over the tasks and tests still open.
func (o *operations) split(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	made, err := o.copier.copyRow(ctx, w)
	if err != nil {
		return nil, err
	}
	if a, ok := made.typ.Attr("SplitFrom"); ok {
		if err := o.set.setRefToRow(ctx, made, a, w); err != nil {
			return nil, err
		}
	}
	open := func(c *row) bool { return c.cur.code < stateClosed }
	return made, o.copier.moveChildren(ctx, w, made, open)
}
