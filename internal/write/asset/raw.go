package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/audit"
)

// Raw is an asset as it is stored. The engine does not check its values, and sets no other
// values.
type Raw struct {
	ID      int64 // stored id
	Type    *meta.Type
	Values  []meta.RowValue // as they are stored; the value of a relation is the stored id of its target
	Deleted bool
}

// Get returns the stored value of an attribute, or nil if there is no value.
func (r *Raw) Get(name string) any {
	for _, v := range r.Values {
		if v.Attr.Name == name {
			return v.Value
		}
	}
	return nil
}

// fill sets the values of a new row.
func (r *Raw) fill(w *row) {
	for _, v := range r.Values {
		w.set(v.Attr, v.Value)
	}
}

// refill sets the values of a stored row, removes all other values, and makes the row active.
func (r *Raw) refill(w *row) {
	w.setState(meta.StateActive)
	r.fill(w)
	for _, a := range r.Type.Attrs {
		if isSingle(a) && r.Get(a.Name) == nil {
			w.clear(a)
		}
	}
}

// isSingle reports whether an attribute is stored in the row of its asset.
func isSingle(a *meta.Attr) bool {
	return isStored(a) && !a.Multi && (a.Place.Kind != meta.InColumn || a.Place.Slot >= 0)
}

// clear removes the value of an attribute.
func (w *row) clear(a *meta.Attr) {
	if a.Place.Kind == meta.InColumn {
		w.setSlot(a.Place.Slot, nil)
	} else if w.cur.Attrs.Set(a.Place.Column, nil) {
		w.dirty = true
	}
}

// raw returns the asset with its values.
func (w *row) raw() Raw {
	r := Raw{ID: w.id, Type: w.typ, Deleted: w.cur.code == meta.StateDeleted}
	for _, a := range w.typ.Attrs {
		if v := w.get(a); v != nil {
			r.Values = append(r.Values, meta.RowValue{Attr: a, Value: v})
		}
	}
	return r
}

// Replace locks the assets with some stored ids, passes them to the function change, and writes
// the assets that the function returns. If the id of a returned asset is not among ids, it is a new
// asset. If the function does not return an asset, that asset stays as it is. Replace checks
// nothing, and does not copy values to dependents.
func (s *Session) Replace(ctx context.Context, ids []int64, change func(stored []Raw) []Raw) error {
	x := s.newExecutor()
	if err := x.loaded.loadRows(ctx, ids); err != nil {
		return err
	}
	var stored []Raw
	for _, id := range slices.Sorted(maps.Keys(x.loaded.rows)) {
		stored = append(stored, x.loaded.rows[id].raw())
	}
	x.changes.begin()
	for _, r := range change(stored) {
		w := x.loaded.rows[r.ID]
		if w == nil {
			r.fill(x.changes.newRow(r.Type, r.ID))
			continue
		}
		x.changes.touch(w)
		if r.Deleted {
			w.setState(meta.StateDeleted)
		} else {
			r.refill(w)
		}
	}
	x.changes.commit()
	return x.write(ctx)
}

// Begin inserts assets at moment 0, as the system member. instances are well-known assets, which
// also get the values that depend on their attributes. raw are assets that are stored exactly as
// they are given. All calls of Begin share one audit row, which needs no fan-out.
func (e *Engine) Begin(ctx context.Context, tx *db.Tx, instances []meta.Instance, raw []Raw) error {
	if err := audit.InsertFirst(ctx, tx); err != nil {
		return err
	}
	x := (&Session{e: e, tx: tx, who: auth.System, aliases: map[string]*Handle{}}).newExecutor()
	for _, in := range instances { // all rows come first, because they may refer to each other
		x.beginRow(in.Type, in.Type.Stored(in.ID)).dirty = false
	}
	for _, in := range instances {
		if err := x.fillInstance(ctx, in); err != nil {
			return fmt.Errorf("%s:%d: %w", in.Type.Name, in.ID, err)
		}
	}
	for _, r := range raw {
		r.fill(x.beginRow(r.Type, r.ID))
	}
	return x.writeBeginning(ctx)
}

// beginRow adds a row without values. Its first version is a version of moment 0.
func (x *executor) beginRow(t *meta.Type, id int64) *row {
	w := x.changes.newRow(t, id)
	x.changes.made = append(x.changes.made, w)
	w.latest = &version{row: w, state: w.cur}
	x.changes.versions = append(x.changes.versions, w.latest)
	return w
}

// fillInstance sets the values of a well-known asset, and the values that depend on them.
func (x *executor) fillInstance(ctx context.Context, in meta.Instance) error {
	w := x.loaded.rows[in.Type.Stored(in.ID)]
	for _, name := range slices.Sorted(maps.Keys(in.Attrs)) {
		a, ok := in.Type.Attr(name)
		if !ok {
			return unknownAttr(in.Type, name)
		}
		if err := x.set.setDefault(ctx, w, a, in.Attrs[name]); err != nil {
			return err
		}
	}
	if w.typ.Secured.Self {
		if err := x.set.members.addScope(ctx, w); err != nil {
			return err
		}
	}
	return x.set.deriveValues(ctx, w)
}

// writeBeginning writes all changes at moment 0, as the system member. It sets no logins.
func (x *executor) writeBeginning(ctx context.Context) error {
	x.changes.logins = nil
	x.changes.dateChanges()
	var at int64
	if err := x.s.tx.QueryRow(ctx, `SELECT `+x.s.e.db.Dialect.NowMicros).Scan(&at); err != nil {
		return err
	}
	at -= at % 1000
	for _, w := range x.changes.made {
		w.cur.createdAt, w.cur.createdBy, w.cur.linked = instant(at), auth.SystemMember, w.links > 0
		w.cur.changedAt, w.cur.changedBy = instant(at), auth.SystemMember
	}
	w := &writer{
		s: x.s, tx: x.s.tx, later: x.s.tx.Later(), layout: x.s.e.layout, changes: x.changes,
		at: at, audit: int64(0), who: auth.SystemMember,
	}
	for _, step := range []func(context.Context) error{w.inserts, w.versions, w.edges, w.scopes, w.roles} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
