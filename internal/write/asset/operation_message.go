package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// send creates a receipt for every recipient of a message who has no receipt yet.
func (o *operations) send(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	a, ok := w.typ.Attr("Recipients")
	if !ok {
		return nil, unknownAttr(w.typ, "Recipients")
	}
	edges, err := o.loaded.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
	if err != nil {
		return nil, err
	}
	done, err := o.withReceipt(ctx, w)
	for _, e := range edges.current(a.Place.Code) {
		if err == nil {
			err = o.proceed(ctx)
		}
		if err == nil && !done[e.to] {
			err = o.makeReceipt(ctx, w, e.to)
		}
	}
	return nil, err
}

// withReceipt returns the ids of the members who have a receipt of a message.
func (o *operations) withReceipt(ctx context.Context, w *row) (map[int64]bool, error) {
	receipts, err := o.lockLinked(ctx, "MessageReceipt", "Message", w.id)
	done := map[int64]bool{}
	for _, receipt := range receipts {
		if a, ok := receipt.typ.Attr("Recipient"); ok && err == nil {
			var member int64
			member, err = o.loaded.pointsTo(ctx, receipt, a)
			done[member] = true
		}
	}
	return done, err
}

func (o *operations) makeReceipt(ctx context.Context, w *row, member int64) error {
	made, err := o.copier.newRow(ctx, "MessageReceipt")
	if err != nil {
		return err
	}
	if err := o.set.pointTo(ctx, made, "Message", w); err != nil {
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
