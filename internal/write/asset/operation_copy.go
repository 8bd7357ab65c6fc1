package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// copyWhole copies an asset with its tasks and tests.
func (o *operations) copyWhole(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	made, err := o.copier.copyAs(ctx, w.typ.Name, w, everyAttribute, nil)
	if err != nil {
		return nil, err
	}
	children, err := o.loaded.childrenOf(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := o.copier.foresee(ctx, children); err != nil {
		return nil, err
	}
	for _, child := range children {
		_, err := o.copier.copyAs(ctx, child.typ.Name, child, except("Parent"), func(copied *row) error {
			return o.set.pointTo(ctx, copied, "Parent", made)
		})
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

// copyShallow copies an asset without its tasks and tests.
func (o *operations) copyShallow(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	return o.copier.copyAs(ctx, w.typ.Name, w, everyAttribute, nil)
}

// split copies an asset and moves its open tasks and tests to the copy.
func (o *operations) split(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	made, err := o.copier.copyAs(ctx, w.typ.Name, w, everyAttribute, nil)
	if err != nil {
		return nil, err
	}
	if _, ok := made.typ.Attr("SplitFrom"); ok {
		if err := o.set.pointTo(ctx, made, "SplitFrom", w); err != nil {
			return nil, err
		}
	}
	return made, o.copier.moveChildren(ctx, w, made, func(child *row) bool { return child.cur.code < meta.StateClosed })
}

// copyRegressionTests adds tests to a test set: one for every regression test that is in the
// suite of the test set and that the caller may see.
func (o *operations) copyRegressionTests(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	a, ok := w.typ.Attr("RegressionSuite")
	if !ok {
		return nil, unknownAttr(w.typ, "RegressionSuite")
	}
	suite, err := o.loaded.pointsTo(ctx, w, a)
	if err != nil || suite == noID {
		return nil, err
	}
	tests, err := o.lockLinked(ctx, "RegressionTest", "RegressionSuites", suite)
	if err != nil {
		return nil, err
	}
	if err := o.copier.foresee(ctx, tests); err != nil {
		return nil, err
	}
	for _, from := range tests {
		sees, err := o.rules.visible(ctx, from.target())
		if err != nil {
			return nil, err
		}
		if !sees {
			continue
		}
		_, err = o.copier.copyAs(ctx, "Test", from, except("Parent", "Scope"), func(made *row) error {
			if err := o.set.pointTo(ctx, made, "Parent", w); err != nil {
				return err
			}
			return o.set.pointTo(ctx, made, "GeneratedFrom", from)
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// lockLinked locks and returns the assets whose relation refers to an asset, except deleted
// assets. typ is the name of a type that has the relation.
func (o *operations) lockLinked(ctx context.Context, typ, relation string, to int64) ([]*row, error) {
	ids, err := o.loaded.linkedTo(ctx, typ, relation, to)
	if err != nil {
		return nil, err
	}
	if err := o.loaded.loadRows(ctx, slices.Clone(ids)); err != nil {
		return nil, err
	}
	var live []*row
	for _, id := range ids {
		if w := o.loaded.rows[id]; w != nil && w.cur.code != meta.StateDeleted {
			live = append(live, w)
		}
	}
	return live, nil
}
