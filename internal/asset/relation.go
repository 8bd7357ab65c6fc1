package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// resolve finds the asset that a relation's value names: an Oid token, an
// @alias or a name. null is true when the value says none. What the caller does
// not see is not found, by any of them.
// Errors: fault.Invalid with the interface's messages.
func (r *run) resolve(ctx context.Context, a *meta.Attr, v Value) (t target, null bool, err error) {
	if v.isEmpty() || v.Kind == Text && v.Text == oid.Null {
		return target{}, true, nil
	}
	if v.Kind != Text {
		return target{}, false, unresolved(a)
	}
	if v.isAlias() {
		return r.resolveAlias(ctx, a, v)
	}
	var ok bool
	if o, perr := oid.Parse(v.Text); perr == nil {
		t, ok, err = r.resolveRef(ctx, Ref{OID: o})
		if err == nil && t.typ != nil && !r.visible(t) {
			t, ok = target{}, false
		}
		if err == nil && !ok {
			err = invalid(a)
		}
	} else if t, ok, err = r.byName(ctx, a, v.Text); err == nil && !ok {
		err = unresolved(a)
	}
	if err == nil && (!a.Takes(t.typ) || t.isDeleted()) {
		err = invalid(a)
	}
	return t, false, err
}

func (r *run) resolveAlias(ctx context.Context, a *meta.Attr, v Value) (target, bool, error) {
	h, ok := r.s.Alias(v.Text)
	if !ok {
		return target{}, false, oid.Invalid(v.Text)
	}
	t, ok, err := r.find(ctx, h.ID)
	if err == nil && (!ok || !a.Takes(t.typ) || t.isDeleted()) {
		err = invalid(a)
	}
	return t, false, err
}

// toOne sets or clears a relation to at most one asset.
func (r *run) toOne(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	written, ok := ch.single()
	if ch.Find != nil || !ok {
		return invalid(a)
	}
	t, null, err := r.resolve(ctx, a, written)
	if err != nil {
		return err
	}
	if null {
		return r.setRef(ctx, w, a, nil)
	}
	return r.setRef(ctx, w, a, &t)
}

// setRef points a to-one relation of a row to t, or to nothing.
func (r *run) setRef(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	if t == nil {
		if a.Required && !w.creating() {
			return required(a)
		}
	} else if err := r.checkTree(ctx, w, a, t); err != nil {
		return err
	}
	if a.Place.Kind == meta.InColumn {
		var boxed any
		if t != nil {
			boxed = t.boxed
		}
		if w.cur.slots[a.Place.Slot] != boxed {
			w.setSlot(a.Place.Slot, boxed)
			if err := r.refChanged(ctx, w, a, t); err != nil {
				return err
			}
		}
	} else if err := r.setLink(ctx, w, a, t); err != nil {
		return err
	}
	if t != nil {
		r.notePart(w, a, t.id)
	}
	return nil
}

// setLink keeps a to-one relation that lies in asset_link.
func (r *run) setLink(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	h, err := r.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
	if err != nil {
		return err
	}
	old := h.one(a.Place.Code)
	if t == nil && old == nil || t != nil && old != nil && old.to == t.id {
		return nil
	}
	if old != nil {
		r.changes.endEdge(old, w)
	}
	if t != nil {
		r.changes.addEdge(h, edge{code: a.Place.Code, from: w.id, to: t.id}, w)
	}
	return r.refChanged(ctx, w, a, t)
}

// refChanged keeps what hangs on a relation that has changed: values copied over
// it, and the project tree.
func (r *run) refChanged(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	if s, ok := r.e.layout.types[w.typ].sourceOf(a.Name); ok {
		if err := r.copySlots(ctx, w, s, t); err != nil {
			return err
		}
	}
	if w.typ.Secured.Self && a.Name == "Parent" && !w.isNew {
		r.changes.movedScopes = append(r.changes.movedScopes, w)
	}
	return nil
}

// toMany adds to and removes from a relation to any number of assets. A plain
// value or list means add; nothing in a list is an error, and alone it leaves
// everything as it is.
func (r *run) toMany(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	if ch.Find != nil {
		return r.replaceMember(ctx, w, a, ch)
	}
	for _, v := range ch.Remove {
		t, null, err := r.resolveRemoved(ctx, a, v)
		if null {
			err = invalid(a)
		}
		if err == nil {
			err = r.removeMember(ctx, w, a, t)
		}
		if err != nil {
			return err
		}
	}
	for i, v := range append(ch.Set[:len(ch.Set):len(ch.Set)], ch.Add...) {
		t, null, err := r.resolve(ctx, a, v)
		if null && i < len(ch.Set) {
			continue
		}
		if null {
			err = invalid(a)
		}
		if err == nil {
			err = r.addMember(ctx, w, a, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resolveRemoved is resolve for a member that is to go: it may be deleted.
func (r *run) resolveRemoved(ctx context.Context, a *meta.Attr, v Value) (target, bool, error) {
	t, null, err := r.resolve(ctx, a, v)
	if err != nil && fault.KindOf(err) == fault.Invalid && t.typ != nil && a.Takes(t.typ) {
		err = nil
	}
	return t, null, err
}

// replaceMember puts one member in the place of another, where that one is a member.
func (r *run) replaceMember(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	old, null, err := r.resolveRemoved(ctx, a, *ch.Find)
	if err != nil || null {
		return err
	}
	next, null, err := r.resolve(ctx, a, ch.Replace)
	if err != nil {
		return err
	}
	is, err := r.isMember(ctx, w, a, old)
	if err != nil || !is {
		return err
	}
	if err := r.removeMember(ctx, w, a, old); err != nil || null {
		return err
	}
	return r.addMember(ctx, w, a, next)
}

// isMember reports whether t is a member of a to-many relation of w.
func (r *run) isMember(ctx context.Context, w *row, a *meta.Attr, t target) (bool, error) {
	switch a.Place.Kind {
	case meta.InLinks:
		h, err := r.edgesFrom(ctx, w.typ, w.id, a.Place.Code)
		return err == nil && h.find(a.Place.Code, t.id) != nil, err
	case meta.InLinksBack:
		h, err := r.edgesFrom(ctx, t.typ, t.id, a.Place.Code)
		return err == nil && h.find(a.Place.Code, w.id) != nil, err
	}
	m, ok, err := r.lock(ctx, t.id)
	if err != nil || !ok {
		return false, err
	}
	back, ok := m.typ.Attr(a.Back.Name)
	return ok && m.cur.slots[back.Place.Slot] == any(w.id), nil
}

// addMember makes t a member of a to-many relation of w.
func (r *run) addMember(ctx context.Context, w *row, a *meta.Attr, t target) error {
	if storedAtOtherEnd(a) {
		m, back, err := r.otherSide(ctx, a, t)
		if err != nil {
			return err
		}
		r.changes.touch(m)
		return r.setRef(ctx, m, back, &target{id: w.id, boxed: w.id, typ: w.typ, code: w.cur.code, row: w})
	}
	relation := a.Place.Code
	from, to, typ := w.id, t.id, w.typ
	if a.Place.Kind == meta.InLinksBack {
		from, to, typ = t.id, w.id, t.typ
	}
	h, err := r.edgesFrom(ctx, typ, from, relation)
	if err != nil || h.find(relation, to) != nil {
		return err
	}
	r.changes.addEdge(h, edge{code: relation, from: from, to: to}, w)
	return r.memberAdded(ctx, w, relation, from, to)
}

// removeMember ends t's membership in a to-many relation of w, if it is a member.
func (r *run) removeMember(ctx context.Context, w *row, a *meta.Attr, t target) error {
	is, err := r.isMember(ctx, w, a, t)
	if err != nil || !is {
		return err
	}
	if storedAtOtherEnd(a) {
		m, back, err := r.otherSide(ctx, a, t)
		if err != nil {
			return err
		}
		r.changes.touch(m)
		return r.setRef(ctx, m, back, nil)
	}
	relation := a.Place.Code
	from, to := w.id, t.id
	if a.Place.Kind == meta.InLinksBack {
		from, to = t.id, w.id
	}
	r.changes.endEdge(r.edgeSets[from].find(relation, to), w)
	r.memberRemoved(w, relation, from, to)
	return nil
}

// otherSide returns the asset that keeps a relation, and its attribute.
func (r *run) otherSide(ctx context.Context, a *meta.Attr, t target) (*row, *meta.Attr, error) {
	m, ok, err := r.lock(ctx, t.id)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, invalid(a)
	}
	back, ok := m.typ.Attr(a.Back.Name)
	if !ok || back.ReadOnly {
		return nil, nil, readOnly(a)
	}
	return m, back, nil
}

// checkTree refuses a value of an upward relation that would close a circle,
// and one that the concrete type does not take.
func (r *run) checkTree(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	if !a.Takes(t.typ) {
		return invalid(a)
	}
	if a.Place.Kind != meta.InColumn || upTree(w.typ, a.Name) == "" {
		return nil
	}
	if w.creating() && !r.hasOtherChanges(w) {
		return nil
	}
	for id := t.id; id != noID; {
		if id == w.id {
			return invalid(a)
		}
		up, err := r.parentOf(ctx, id, a.Place.Slot)
		if err != nil {
			return err
		}
		id = up
	}
	return nil
}

// hasOtherChanges reports whether the current command has put other assets below a
// row it is making.
func (r *run) hasOtherChanges(w *row) bool {
	return slices.ContainsFunc(r.changes.touched, func(o *row) bool { return o != w })
}

// parentOf returns the id in an upward column of an asset.
func (r *run) parentOf(ctx context.Context, id int64, slot int) (int64, error) {
	if w := r.rows[id]; w != nil {
		if up, ok := w.cur.ref(slot); ok {
			return up, nil
		}
		return noID, nil
	}
	key := parentKey{id, slot}
	if up, ok := r.parents[key]; ok {
		return up, nil
	}
	var up *int64
	err := r.s.tx.QueryRow(ctx, `SELECT `+r.e.layout.slots[slot].Name+` FROM asset WHERE id = ?`, id).Scan(&up)
	if err != nil {
		return 0, err
	}
	if up != nil {
		r.parents[key] = *up
		return *up, nil
	}
	r.parents[key] = noID
	return noID, nil
}

type parentKey struct {
	id   int64
	slot int
}
