package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// rules checks what commands may do: which assets the caller sees, which values are required,
// whether a tree would have a cycle, which operations may run. It reads the loaded assets and
// the changes of the batch, and changes no assets.
type rules struct {
	unit
}

// visible reports whether the caller may read an asset.
func (r *rules) visible(ctx context.Context, t target) (bool, error) {
	if !r.s.who.Bounds.Reads(t.typ) {
		return false, nil
	}
	if !t.typ.Seen.IsZero() {
		return r.loaded.sees(ctx, t.id, t.typ)
	}
	if scope, ok := t.slot(r.s.e.layout, r.s.e.layout.scope).(int64); ok {
		return r.seesScope(&scope), nil
	}
	return true, nil
}

// seesScope reports whether the caller may read the assets in a project. This includes projects
// that the request has created, although the rights of the caller do not contain them yet.
func (r *rules) seesScope(scope *int64) bool {
	if sees(r.s.who, scope) || r.s.createdScopes[*scope] {
		return true
	}
	w := r.loaded.rows[*scope]
	return w != nil && w.isNew
}

// checkRequired returns an error if a new asset lacks a required value. It checks custom
// attributes only if the parameter custom is true.
func (r *rules) checkRequired(w *row, tr *typeRules, custom bool) error {
	for _, a := range tr.required {
		if (custom || !a.Custom) && r.isEmpty(w, a) {
			return required(a)
		}
	}
	return nil
}

// isEmpty reports whether a stored attribute has no value. An empty text counts as no value.
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

// checkKept returns an error if a command has changed an attribute of a protected asset that must
// not change. The parameter was is the value before the command.
func (r *rules) checkKept(w *row, a *meta.Attr, was any) error {
	if !w.typ.IsProtected(w.id) || w.get(a) == was || !slices.Contains(w.typ.Protected.Attributes, a.Name) {
		return nil
	}
	return readOnly(a)
}

// checkTree returns an error if t would close a cycle in the tree of a relation, or if the
// relation does not accept the type of t.
func (r *rules) checkTree(ctx context.Context, w *row, a *meta.Attr, t *target) error {
	if !a.Takes(t.typ) {
		return invalid(a)
	}
	if a.Place.Kind != meta.InColumn || upTree(w.typ, a.Name) == "" {
		return nil
	}
	if w.creating() && !slices.ContainsFunc(r.changes.touched, func(o *row) bool { return o != w }) {
		return nil // a new asset has nothing below it, unless its command changes other assets
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

// checkPeriod returns an error if the end date is before the begin date and the command has
// changed one of these dates. Dates that are already in the wrong order do not prevent other
// changes.
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
		if w.creating() || w.cur.Slots[a.Place.Slot] != w.before.Slots[a.Place.Slot] {
			return invalid(tr.end)
		}
	}
	return nil
}

// importable are the attributes that only an import may set.
var importable = map[string]bool{
	"CreateDate": true, "CreateDateUTC": true, "CreatedBy": true,
	"ChangeDate": true, "ChangeDateUTC": true, "ChangedBy": true,
}

// canImport reports whether the command may set an attribute because the request is an import and
// the command creates the asset.
func (r *rules) canImport(w *row, a *meta.Attr) bool {
	return r.s.req.Import && w.creating() && a.Place.Kind == meta.System && importable[a.Name]
}

// checkImported returns an error if the date of change of an imported asset is before its date of
// creation.
func (r *rules) checkImported(ctx context.Context, w *row) error {
	if w.imported.changedAt == nil {
		return nil
	}
	now, err := r.s.clock(ctx)
	created := instant(now)
	if w.imported.createdAt != nil {
		created = *w.imported.createdAt
	}
	if err == nil && *w.imported.changedAt < created {
		err = invalid(w.imported.last)
	}
	return err
}

// hasRole reports whether a member already has a role in a project. It looks at the changes of
// the batch first, then at the stored roles.
func (r *rules) hasRole(ctx context.Context, want role) (bool, error) {
	for _, done := range slices.Backward(r.changes.roles) {
		if done.scope == want.scope && done.member == want.member {
			return done.gives(want), nil
		}
	}

	var now role
	query := `SELECT role_id, is_owner FROM scope_member WHERE scope_id = ? AND member_id = ? AND until_moment = ?`
	err := r.s.tx.QueryRow(ctx, query, want.scope, want.member, db.Forever).Scan(&now.role, &now.owner)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return now.gives(want), err
}
