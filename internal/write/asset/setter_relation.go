package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// toOne sets or clears a relation to at most one asset.
func (set *setter) toOne(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	written, ok := ch.single()
	if ch.Find != nil || !ok {
		return invalid(a)
	}
	t, null, err := set.resolver.resolve(ctx, a, written)
	if err != nil {
		return err
	}
	if null {
		return set.clearRef(ctx, w, a)
	}
	return set.setRef(ctx, w, a, &t)
}

// clearRef clears a to-one relation. If the caller may not see the target, the relation stays,
// because for the caller it is already null.
func (set *setter) clearRef(ctx context.Context, w *row, a *meta.Attr) error {
	if a.Required || set.s.who.All {
		return set.setRef(ctx, w, a, nil)
	}
	id, err := set.loaded.pointsTo(ctx, w, a)
	if err != nil || id == noID {
		return err
	}
	t, ok, err := set.loaded.find(ctx, id)
	if err == nil && ok {
		ok, err = set.rules.visible(ctx, t)
	}
	if err != nil || !ok {
		return err
	}
	return set.setRef(ctx, w, a, nil)
}

// toMany changes a relation to any number of assets. It removes the values of Remove, and adds
// the values of Set and Add. An empty value is an error in Remove and Add, and is ignored in Set.
func (set *setter) toMany(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	if ch.Find != nil {
		return set.replaceMember(ctx, w, a, ch)
	}
	for _, v := range ch.Remove {
		if err := set.proceed(ctx); err != nil {
			return err
		}
		t, null, err := set.resolver.resolveRemoved(ctx, a, v)
		if null {
			err = invalid(a)
		}
		if err == nil {
			err = set.removeMember(ctx, w, a, t)
		}
		if err != nil {
			return err
		}
	}
	for i, v := range append(ch.Set[:len(ch.Set):len(ch.Set)], ch.Add...) {
		if err := set.proceed(ctx); err != nil {
			return err
		}
		t, null, err := set.resolver.resolve(ctx, a, v)
		if null && i < len(ch.Set) {
			continue
		}
		if null {
			err = invalid(a)
		}
		if err == nil {
			err = set.addMember(ctx, w, a, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceMember replaces one member by another asset. An empty replacement removes the member.
// It changes nothing if the asset to replace is not a member.
func (set *setter) replaceMember(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	old, null, err := set.resolver.resolveRemoved(ctx, a, *ch.Find)
	if err != nil || null {
		return err
	}
	next, null, err := set.resolver.resolve(ctx, a, ch.Replace)
	if err != nil {
		return err
	}
	is, err := set.isMember(ctx, w, a, old)
	if err != nil || !is {
		return err
	}
	if err := set.removeMember(ctx, w, a, old); err != nil || null {
		return err
	}
	return set.addMember(ctx, w, a, next)
}
