package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// applyChanges carries out the changes of a command in order.
func (set *setter) applyChanges(ctx context.Context, w *row, all []Change) error {
	for i := range all {
		ch := &all[i]
		a, ok := w.typ.Attr(ch.Name)
		if !ok {
			return unknownAttr(w.typ, ch.Name)
		}
		switch {
		case ch.Bad == ErrForm: //nolint:errorlint // ErrForm is never wrapped
			return invalid(a)
		case ch.Bad != nil:
			return ch.Bad
		}
		if !w.creating() && !storedAtOtherEnd(a) {
			if err := set.rules.checkSealed(ctx, w.typ, w.id, a); err != nil {
				return err
			}
		}
		was := w.get(a)
		if err := set.applyChange(ctx, w, a, ch); err != nil {
			return err
		}
		if err := set.rules.checkKept(w, a, was); err != nil {
			return err
		}
	}
	return nil
}

func (set *setter) applyChange(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	if set.rules.canImport(w, a) {
		return set.setImported(ctx, w, a, ch)
	}
	if a.ReadOnly && !ch.Internal && !storedAtOtherEnd(a) {
		return readOnly(a)
	}
	if a.Kind == meta.Rank {
		return set.ranker.setRank(ctx, w, a, ch)
	}
	if ch.Neighbour != nil {
		return invalid(a)
	}
	switch a.Place.Kind {
	case meta.InColumn, meta.InAttrs:
		if a.Kind == meta.Relation {
			return set.toOne(ctx, w, a, ch)
		}
		return set.setScalar(w, a, ch)
	case meta.InLinks:
		if a.Multi {
			return set.toMany(ctx, w, a, ch)
		}
		return set.toOne(ctx, w, a, ch)
	case meta.InLinksBack, meta.Reverse:
		return set.toMany(ctx, w, a, ch)
	case meta.InValues:
		return set.setValues(ctx, w, a, ch)
	case meta.Secret:
		return set.secret(ctx, w, a, ch)
	}
	return readOnly(a)
}
