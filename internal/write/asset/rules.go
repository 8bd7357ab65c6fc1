package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// rules decides what may be: who sees what, which values are required, which
// trees are free of cycles, which operations may run. It reads what is loaded and
// what is changed, and changes nothing.
type rules struct {
	unit
}

// visible reports whether the caller may read an asset.
func (r *rules) visible(ctx context.Context, t target) (bool, error) {
	if !t.typ.Seen.IsZero() {
		return r.loaded.sees(ctx, t.id, t.typ)
	}
	if scope, ok := t.slot(r.s.e.layout, r.s.e.layout.scope).(int64); ok {
		return r.seesScope(&scope), nil
	}
	return true, nil
}

// seesScope reports whether the caller may read what lies in a project: also in
// one that the request itself has made, which the caller's rights do not contain
// yet.
func (r *rules) seesScope(scope *int64) bool {
	if sees(r.s.who, scope) || r.s.createdScopes[*scope] {
		return true
	}
	w := r.loaded.rows[*scope]
	return w != nil && w.isNew
}

// checkRequired refuses a new asset that lacks a required value; those of custom
// attributes only where custom is true.
func (r *rules) checkRequired(w *row, tr *typeRules, custom bool) error {
	for _, a := range tr.required {
		if (custom || !a.Custom) && r.isEmpty(w, a) {
			return required(a)
		}
	}
	return nil
}

// isEmpty reports whether a stored attribute has no value; an empty text is
// none.
func (r *rules) isEmpty(w *row, a *meta.Attr) bool {
	switch a.Place.Kind {
	case meta.InLinks:
		edges := r.loaded.edgeSets[w.id]
		return edges == nil || edges.one(a.Place.Code) == nil
	case meta.InValues:
		return false
	}
	v := w.get(a)
	return v == nil || v == ""
}

// checkKept refuses a change of a well-known asset's fixed attribute.
func (r *rules) checkKept(w *row, a *meta.Attr, was any) error {
	if !w.typ.IsProtected(w.id) || w.get(a) == was || !slices.Contains(w.typ.Protected.Attributes, a.Name) {
		return nil
	}
	return readOnly(a)
}

// checkTree refuses a value of an upward relation that would close a cycle, and
// one that the concrete type does not take.
func (r *rules) checkTree(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	if !a.Takes(t.typ) {
		return invalid(a)
	}
	if a.Place.Kind != meta.InColumn || upTree(w.typ, a.Name) == "" {
		return nil
	}
	if w.creating() && !slices.ContainsFunc(r.changes.touched, func(o *row) bool { return o != w }) {
		return nil // nothing can lie below it yet
	}
	for id := t.id; id != noID; {
		if id == w.id {
			return invalid(a)
		}
		up, err := r.loaded.parentOf(ctx, id, a.Place.Slot)
		if err != nil {
			return err
		}
		id = up
	}
	return nil
}

// checkPeriod refuses an end before the beginning where the command sets one of
// the two: dates already out of order do not prevent other changes.
func checkPeriod(w *row, tr *typeRules) error {
	if tr.begin == nil || tr.end == nil {
		return nil
	}
	begin, hasBegin := w.get(tr.begin).(int64)
	end, hasEnd := w.get(tr.end).(int64)
	if !hasBegin || !hasEnd || end >= begin {
		return nil
	}
	for _, a := range [...]*meta.Attr{tr.begin, tr.end} {
		if w.creating() || w.cur.slots[a.Place.Slot] != w.before.slots[a.Place.Slot] {
			return invalid(tr.end)
		}
	}
	return nil
}

// importable are the attributes that an import may give, all of them read-only
// otherwise.
var importable = map[string]bool{
	"CreateDate": true, "CreateDateUTC": true, "CreatedBy": true,
	"ChangeDate": true, "ChangeDateUTC": true, "ChangedBy": true,
}

// canImport reports whether a may be given for an asset: by an import that makes it.
func (r *rules) canImport(w *row, a *meta.Attr) bool {
	return r.s.req.Import && w.creating() && a.Place.Kind == meta.System && importable[a.Name]
}

// checkImported refuses an asset changed before it was made.
func (r *rules) checkImported(ctx context.Context, w *row) error {
	if w.imported.changedAt == nil {
		return nil
	}
	made, err := r.s.clock(ctx)
	if w.imported.createdAt != nil {
		made = *w.imported.createdAt
	}
	if err == nil && *w.imported.changedAt < made {
		err = invalid(w.imported.last)
	}
	return err
}

// hasRole reports whether a member has that role in a project already: by the
// changes of the batch, else by what is stored.
func (r *rules) hasRole(ctx context.Context, want role) (bool, error) {
	for _, done := range slices.Backward(r.changes.roles) {
		if done.scope == want.scope && done.member == want.member {
			return done.gives(want), nil
		}
	}
	var now role
	err := r.s.tx.QueryRow(ctx, `SELECT role_id, is_owner FROM scope_member WHERE scope_id = ? AND member_id = ? AND until_moment = ?`,
		want.scope, want.member, db.Forever).Scan(&now.role, &now.owner)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return now.gives(want), err
}
