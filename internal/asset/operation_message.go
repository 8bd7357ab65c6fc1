package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/meta"
)

// copyRegressionTests makes one test below a test set for every regression
// test of its suite.
func (o *operations) copyRegressionTests(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	suiteAttr, ok := w.typ.Attr("RegressionSuite")
	if !ok {
		return nil, unknownAttr(w.typ, "RegressionSuite")
	}
	suite, err := o.loaded.pointsTo(ctx, w, suiteAttr)
	if err != nil || suite == noID {
		return nil, err
	}
	ids, err := o.loaded.linkedTo(ctx, "RegressionTest", "RegressionSuites", suite)
	if err == nil {
		err = o.loaded.loadRows(ctx, append([]int64(nil), ids...))
	}
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		src := o.loaded.rows[id]
		if src == nil || src.cur.code == stateDeleted {
			continue
		}
		if err := o.copier.copyTest(ctx, w, src); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// send gives every recipient of a message who has none a receipt.
func (o *operations) send(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	a, ok := w.typ.Attr("Recipients")
	if !ok {
		return nil, unknownAttr(w.typ, "Recipients")
	}
	h, err := o.loaded.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
	if err != nil {
		return nil, err
	}
	done, err := o.withReceipt(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, l := range h.current(a.Place.Code) {
		if done[l.to] {
			continue
		}
		if err := o.receipt(ctx, w, l.to); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// withReceipt returns the members who have a receipt of a message.
func (o *operations) withReceipt(ctx context.Context, w *row) (map[int64]bool, error) {
	ids, err := o.loaded.linkedTo(ctx, "MessageReceipt", "Message", w.id)
	if err == nil {
		err = o.loaded.loadRows(ctx, append([]int64(nil), ids...))
	}
	if err != nil {
		return nil, err
	}
	done := map[int64]bool{}
	for _, id := range ids {
		src := o.loaded.rows[id]
		if src == nil || src.cur.code == stateDeleted {
			continue
		}
		if a, ok := src.typ.Attr("Recipient"); ok {
			to, err := o.loaded.pointsTo(ctx, src, a)
			if err != nil {
				return nil, err
			}
			done[to] = true
		}
	}
	return done, nil
}

func (o *operations) receipt(ctx context.Context, w *row, member int64) error {
	made, err := o.copier.newRowOf(ctx, "MessageReceipt")
	if err != nil {
		return err
	}
	of, ok := made.typ.Attr("Message")
	if !ok {
		return unknownAttr(made.typ, "Message")
	}
	if err := o.set.setRefToRow(ctx, made, of, w); err != nil {
		return err
	}
	to, ok := made.typ.Attr("Recipient")
	if !ok {
		return unknownAttr(made.typ, "Recipient")
	}
	if err := o.copier.copyRef(ctx, made, to, member); err != nil {
		return err
	}
	for _, name := range [...]string{"IsRead", "IsArchived"} {
		if a, ok := made.typ.Attr(name); ok {
			made.set(a, false)
		}
	}
	return o.set.completeNew(ctx, made)
}
