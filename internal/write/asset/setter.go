package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// setter changes attributes of assets, and values that depend on them.
type setter struct {
	unit
	rules    *rules
	resolver *resolver
	members  *members
	ranker   *ranker
}

// setRef sets a to-one relation of a row to t, or clears it if t is nil.
func (set *setter) setRef(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	if t == nil {
		if a.Required && !w.creating() {
			return required(a)
		}
	} else if err := set.rules.checkTree(ctx, w, a, t); err != nil {
		return err
	}
	changed, err := set.storeRef(ctx, w, a, t)
	if err == nil && changed {
		err = set.refChanged(ctx, w, a, t)
	}
	if err == nil && t != nil {
		set.loaded.addPart(w, a, t.id)
	}
	return err
}

// storeRef sets a to-one relation in its column or link. It reports whether the relation has
// changed.
func (set *setter) storeRef(ctx context.Context, w *row, a *meta.Attr, t *target) (bool, error) {
	if a.Place.Kind == meta.InColumn {
		var boxed any
		if t != nil {
			boxed = t.boxed
		}
		if w.cur.Slots[a.Place.Slot] == boxed {
			return false, nil
		}
		w.setSlot(a.Place.Slot, boxed)
		return true, nil
	}
	edges, err := set.loaded.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
	if err != nil {
		return false, err
	}
	old := edges.one(a.Place.Code)
	if t == nil && old == nil || t != nil && old != nil && old.to == t.id {
		return false, nil
	}
	if old != nil {
		set.changes.endEdge(old, w)
	}
	if t != nil {
		set.changes.addEdge(edges, edge{code: a.Place.Code, from: w.id, to: t.id}, w)
	}
	return true, nil
}

// refChanged updates the data that depends on a changed relation: copied values and the project
// tree. It locks t if w copies values from t or is a part of t.
func (set *setter) refChanged(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	if w.typ.Secured.Self && a.Name == "Parent" && !w.isNew {
		set.changes.movedScopes = append(set.changes.movedScopes, w)
	}
	if t != nil && t.reference != nil && !t.reference.locked && set.s.e.layout.follows(w.typ, a) {
		if err := set.lockOther(ctx, a, *t); err != nil {
			return err
		}
		*t, _ = set.loaded.cached(t.id)
	}
	s, ok := set.s.e.layout.types[w.typ].sourceOf(a.Name)
	if !ok {
		return nil
	}
	for _, slot := range s.slots {
		var v any
		if t != nil {
			v = t.slot(set.s.e.layout, slot)
		}
		w.setSlot(slot, v)
	}
	if t != nil {
		set.loaded.dependents[t.id] = append(set.loaded.dependents[t.id], w)
	}
	return nil
}

// isMember reports whether t is a member of a to-many relation of w.
func (set *setter) isMember(ctx context.Context, w *row, a *meta.Attr, t target) (bool, error) {
	switch a.Place.Kind {
	case meta.InLinks:
		edges, err := set.loaded.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
		return err == nil && edges.find(a.Place.Code, t.id) != nil, err
	case meta.InLinksBack:
		if err := set.loaded.lockHolder(ctx, t.id); err != nil {
			return false, err
		}
		edges, err := set.loaded.edgesFrom(ctx, t.typ, t.id, a.Place.Code)
		return err == nil && edges.find(a.Place.Code, w.id) != nil, err
	}
	other, ok, err := set.loaded.lock(ctx, t.id)
	if err != nil || !ok {
		return false, err
	}
	back, ok := other.typ.Attr(a.Back.Name)
	return ok && other.cur.Slots[back.Place.Slot] == any(w.id), nil
}

// addMember makes t a member of a to-many relation of w.
func (set *setter) addMember(ctx context.Context, w *row, a *meta.Attr, t target) error {
	if storedAtOtherEnd(a) {
		other, back, err := set.otherSide(ctx, a, t)
		if err != nil {
			return err
		}
		set.changes.touchHolder(other)
		return set.setRef(ctx, other, back, new(w.target()))
	}
	relation := a.Place.Code
	from, to, typ := w.id, t.id, w.typ
	if a.Place.Kind == meta.InLinksBack {
		from, to, typ = t.id, w.id, t.typ
		if err := set.lockOther(ctx, a, t); err != nil {
			return err
		}
		if err := set.rules.checkSealed(ctx, typ, from, a); err != nil {
			return err
		}
	}
	edges, err := set.loaded.edgesTo(ctx, typ, from, relation, to)
	if err != nil || edges.find(relation, to) != nil {
		return err
	}
	set.changes.addEdge(edges, edge{code: relation, from: from, to: to}, w)
	return set.members.added(ctx, w, relation, from, to)
}

// lockOther locks t, the target of relation a. It is called if t stores the relation, or if the
// written asset copies values from t or is a part of t.
// Errors: fault.Invalid if t has been deleted since it was found.
func (set *setter) lockOther(ctx context.Context, a *meta.Attr, t target) error {
	if err := set.loaded.lockHolder(ctx, t.id); err != nil {
		return err
	}
	if now, ok := set.loaded.cached(t.id); !ok || now.isDeleted() && !t.isDeleted() {
		return invalid(a)
	}
	return nil
}

// removeMember removes t from a to-many relation of w, if t is a member of the relation.
func (set *setter) removeMember(ctx context.Context, w *row, a *meta.Attr, t target) error {
	is, err := set.isMember(ctx, w, a, t)
	if err != nil || !is {
		return err
	}
	if storedAtOtherEnd(a) {
		other, back, err := set.otherSide(ctx, a, t)
		if err != nil {
			return err
		}
		set.changes.touchHolder(other)
		return set.setRef(ctx, other, back, nil)
	}
	relation := a.Place.Code
	from, to := w.id, t.id
	if a.Place.Kind == meta.InLinksBack {
		from, to = t.id, w.id
		if err := set.rules.checkSealed(ctx, t.typ, from, a); err != nil {
			return err
		}
	}
	set.changes.endEdge(set.loaded.edgeSets[from].find(relation, to), w)
	set.members.removed(w, relation, from, to)
	return nil
}

// otherSide locks and returns t, which stores relation a, and the attribute in which t stores it.
func (set *setter) otherSide(ctx context.Context, a *meta.Attr, t target) (*row, *meta.Attr, error) {
	other, ok, err := set.loaded.lock(ctx, t.id)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, invalid(a)
	}
	back, ok := other.typ.Attr(a.Back.Name)
	if !ok || back.ReadOnly {
		return nil, nil, readOnly(a)
	}
	if !other.creating() {
		err = set.rules.checkSealed(ctx, other.typ, other.id, a)
	}
	return other, back, err
}

// pointTo sets a to-one relation to a row of this batch. name is the name of the relation.
func (set *setter) pointTo(ctx context.Context, w *row, name string, to *row) error {
	a, ok := w.typ.Attr(name)
	if !ok {
		return unknownAttr(w.typ, name)
	}
	return set.setRef(ctx, w, a, new(to.target()))
}

// creator returns the stored id of the creator of a new asset: the member that an import has
// set, or the caller.
func (set *setter) creator(w *row) int64 {
	if w.imported.createdBy != nil {
		return *w.imported.createdBy
	}
	return set.s.who.Member
}
