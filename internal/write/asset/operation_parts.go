package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// operateOnParts runs an operation on the parts of an asset, and on the parts of these parts.
// It skips parts whose state does not allow the operation. Undelete also skips parts that
// were not deleted together with the asset.
func (o *operations) operateOnParts(ctx context.Context, w *row, op *meta.Op) error {
	rules := o.s.e.layout.partRules(w.typ, op.Name)
	if len(rules) == 0 {
		return nil
	}
	if err := o.loaded.loadParts(ctx, []int64{w.id}, false); err != nil {
		return err
	}
	if op.Effect.Back {
		if err := o.loaded.loadDeletions(ctx, o.loaded.deletedParts([]int64{w.id})); err != nil {
			return err
		}
	}

	var further []*row // parts that may have parts
	for _, rule := range rules {
		for _, part := range o.loaded.parts[w.id] {
			if part.typ != rule.part || o.loaded.rows[part.id] != part {
				continue
			}
			if err := o.proceed(ctx); err != nil {
				return err
			}
			at, err := o.loaded.pointsTo(ctx, part, rule.relation)
			if err != nil {
				return err
			}
			if at != w.id || !o.rules.appliesToPart(w, part, op) {
				continue
			}
			if err := o.operateOnPart(ctx, part, op); err != nil {
				return err
			}
			if len(o.s.e.layout.partRules(part.typ, op.Name)) > 0 {
				further = append(further, part)
			}
		}
	}
	return o.operateOnPartsOf(ctx, further, op)
}

// operateOnPartsOf runs an operation on the parts of several owners. The owners are parts of
// other assets themselves.
func (o *operations) operateOnPartsOf(ctx context.Context, owners []*row, op *meta.Op) error {
	ids := make([]int64, len(owners))
	for i, part := range owners {
		ids[i] = part.id
	}
	if err := o.loaded.loadParts(ctx, ids, false); err != nil {
		return err
	}
	for _, part := range owners {
		if err := o.operateOnParts(ctx, part, op); err != nil {
			return err
		}
	}
	return nil
}

// operateOnPart changes the state of a part in the same way as the operation changes the state of
// the owner.
func (o *operations) operateOnPart(ctx context.Context, part *row, op *meta.Op) error {
	o.changes.touch(part)
	if op.Effect.Back {
		if err := o.restore(ctx, part); err != nil {
			return err
		}
	} else {
		part.setState(op.Effect.To)
	}
	part.cur.partOp = op.Name
	return nil
}
