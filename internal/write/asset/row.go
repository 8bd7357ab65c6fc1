package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// noID means no id; 0 is the id of Scope:0.
const noID int64 = -1 << 62

// batchTime in createdAt and changedAt stands for the instant that the allocator
// stamps for the batch.
const batchTime int64 = -1

// A moment that is not allocated yet is negative: -1 is the first of the batch.
// The writer replaces it by the allocated one.

// state is one version of an asset. It does not change once its command has
// succeeded: a later change works on a copy.
type state struct {
	code          int   // AssetState
	moment        int64 // negative until the batch is written
	audit         int64
	createdMoment int64 // negative until the batch is written
	createdAt     int64 // batchTime until the batch is written
	createdBy     int64
	changedAt     int64 // likewise
	changedBy     int64
	slots         []any // by meta.Place.Slot; nil is null
	attrs         attrs
	hashes        hashes
	linked        bool   // links or values began or ended with this version
	until         int64  // negative until the batch is written
	partOp        string // the operation on what it belongs to that changed it last, in this request
}

// ranked in a slot stands for the nth rank, from 1, that the batch allocates from
// a sequence.
type ranked struct {
	sequence string
	nth      int64
}

// numbered in a slot stands for the nth Number that the batch allocates for a
// type.
type numbered struct {
	typ *meta.Type
	nth int64
}

// row is an asset that is loaded for change, or made in this batch.
type row struct {
	id     int64
	typ    *meta.Type
	cur    *state
	before *state // while a command works on it: what it was
	isNew  bool   // made in this batch
	dirty  bool   // the command changed something
	links  int    // links and values that the command began or ended
	holds  bool   // it holds a relation that the command writes from its other end
	forced bool   // the command did what no column shows
	hidden bool   // it lay in a deleted project when it was loaded

	imported imported // of a fresh one, by an import
	stored   *state   // as it was loaded; nil for fresh ones
	latest   *version
}

// imported is who made an asset and who changed it last, and when, as an import
// sets them. What is nil is as for any other new asset: the caller, and now.
type imported struct {
	createdAt, changedAt *int64 // UTC microseconds, whole milliseconds
	createdBy, changedBy *int64 // stored ids of members
	last                 *meta.Attr
}

// applyTo sets what was imported in the first version of an asset.
func (g *imported) applyTo(st *state) {
	for _, x := range [...]struct{ from, to *int64 }{
		{g.createdAt, &st.createdAt}, {g.createdBy, &st.createdBy}, {g.changedAt, &st.changedAt}, {g.changedBy, &st.changedBy},
	} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
}

// creating reports whether the current command makes the asset.
func (w *row) creating() bool { return w.isNew && w.latest == nil }

// oid returns the asset's identity.
func (w *row) oid() oid.OID { return oid.OID{Type: w.typ.Name, ID: w.typ.Shown(w.id)} }

// version is a row of asset_version to be written.
type version struct {
	row *row
	*state
}

// clone copies what a command may change in place.
func (s *state) clone() *state {
	c := *s
	c.slots = append([]any(nil), s.slots...)
	c.linked, c.until = false, db.Forever
	return &c
}

// same reports whether two states hold the same values.
func (s *state) same(as *state) bool {
	if s.code != as.code || len(s.attrs) != len(as.attrs) || !slices.Equal(s.slots, as.slots) {
		return false
	}
	for _, x := range s.attrs {
		if !slices.Contains(as.attrs, x) {
			return false
		}
	}
	return true
}

// refOr returns the id in a relation's slot, noID when there is none.
func (s *state) refOr(slot int) int64 {
	if id, ok := s.ref(slot); ok {
		return id
	}
	return noID
}

// ref returns the id in a relation's slot.
func (s *state) ref(slot int) (int64, bool) {
	id, ok := s.slots[slot].(int64)
	return id, ok
}

// set puts a stored value into the place of an attribute and marks the row when
// it differs.
func (w *row) set(a *meta.Attr, v any) {
	switch a.Place.Kind {
	case meta.InColumn:
		w.setSlot(a.Place.Slot, v)
	case meta.InAttrs:
		if a.Kind == meta.Boolean && !w.creating() && value.OrUnset(a, w.cur.attrs.get(a)) == value.OrUnset(a, v) {
			return
		}
		if w.cur.attrs.set(a.Place.Column, v) {
			w.dirty = true
		}
	}
}

func (w *row) setSlot(slot int, v any) {
	if w.cur.slots[slot] != v {
		w.cur.slots[slot] = v
		w.dirty = true
	}
}

func (w *row) setState(code int) {
	if w.cur.code != code {
		w.cur.code = code
		w.dirty = true
	}
}

// get reads the stored value of a scalar or of a relation that has a column.
func (w *row) get(a *meta.Attr) any {
	switch a.Place.Kind {
	case meta.InColumn:
		if a.Place.Slot >= 0 {
			return w.cur.slots[a.Place.Slot]
		}
	case meta.InAttrs:
		return w.cur.attrs.get(a)
	}
	return nil
}

// deletion is how an asset was deleted: its last version before, and its first
// deleted one.
type deletion struct {
	state           int   // AssetState before
	lastLive, since int64 // moments of the two versions
	audit           int64 // of the deletion
}

// deletedWith reports whether a part was deleted with its owner: by the same
// command, so in the same request and at a later moment, and not restored since.
// A part that was deleted before, on its own, has an earlier moment; one that was
// restored and deleted again lived at a later one.
func (d *deletion) deletedWith(owner *deletion) bool {
	return d != nil && owner != nil && d.audit == owner.audit && d.lastLive < owner.since && owner.since < d.since
}
