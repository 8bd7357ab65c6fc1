package asset

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// noID means that there is no id. It is not 0, because 0 is the id of Scope:0.
const noID int64 = -1 << 62

// state is the content of one version of an asset. After the command that made the state has
// succeeded, only the writer changes the state, to replace placeholders. A later command changes a
// copy.
type state struct {
	code          int // AssetState
	moment        moment
	audit         int64
	createdMoment moment
	createdAt     instant
	createdBy     int64
	changedAt     instant
	changedBy     int64
	stored.Values      // Slots may contain placeholders (pending) until the batch is written
	linked        bool // true if links or values began or ended with this version
	until         moment
	partOp        string // for a part: the operation on its owner that last changed the part in this request
}

// newState returns a state without values.
func (l *layout) newState() *state {
	return &state{until: forever, Values: stored.Values{Slots: make([]any, len(l.Slots))}}
}

// row is an asset that is loaded for change, or made in this batch.
type row struct {
	id      int64
	typ     *meta.Type
	cur     *state
	isNew   bool // true if the batch creates the asset
	hidden  bool // true if the asset was in a hidden project when it was loaded
	placed  bool // true if a command has given the new asset a rank
	shifted bool // true if the rank has changed only to make room for another asset

	draft // changes of the current command

	imported imported // creator and dates of a new asset, if an import sets them
	stored   *state   // the state that was loaded; nil for a new asset
	latest   *version // the last version that this batch makes; nil if there is none yet
}

// draft is what the current command has done with a row. It is zero between commands.
type draft struct {
	before *state // the state before the command; nil if the command has not touched the row
	dirty  bool   // true if the command changed something
	forced bool   // true if the command changed something that no column contains; the row then gets a version
	links  int    // number of links and values that the command began or ended
	holds  bool   // true if the row stores a relation that the command writes from the other end of the relation
}

// imported contains the values that an import sets for a new asset: its creator, the member who
// changed it last, and the dates of the creation and of this change. If a field is nil, the asset
// gets the usual value: the caller, or the instant of the batch.
type imported struct {
	createdAt, changedAt *instant   // whole milliseconds
	createdBy, changedBy *int64     // stored ids of members
	last                 *meta.Attr // the attribute that set changedAt; for messages
}

// applyTo copies the imported values to the first version of an asset.
func (g *imported) applyTo(st *state) {
	setIfGiven(&st.createdAt, g.createdAt)
	setIfGiven(&st.createdBy, g.createdBy)
	setIfGiven(&st.changedAt, g.changedAt)
	setIfGiven(&st.changedBy, g.changedBy)
}

func setIfGiven[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// creating reports whether the current command creates the asset.
func (w *row) creating() bool { return w.isNew && w.latest == nil }

// oid returns the Oid of the asset.
func (w *row) oid() oid.OID { return oid.OID{Type: w.typ.Name, ID: w.typ.Shown(w.id)} }

// version is a row of asset_version to be written.
type version struct {
	row *row
	*state
}

// clone returns a copy of a state, for a command to change. The copy shares attrs, which are never
// changed in place.
func (s *state) clone() *state {
	c := *s
	c.Values = s.Clone()
	c.linked, c.until = false, forever
	return &c
}

// same reports whether two states have the same AssetState and the same values, without links.
func (s *state) same(as *state) bool { return s.code == as.code && s.Same(&as.Values) }

// refOr returns the id in the slot of a relation, or noID if there is no id.
func (s *state) refOr(slot int) int64 {
	if id, ok := s.ref(slot); ok {
		return id
	}
	return noID
}

// ref returns the id in the slot of a relation. It returns false if there is no id.
func (s *state) ref(slot int) (int64, bool) {
	id, ok := s.Slots[slot].(int64)
	return id, ok
}

// set sets the stored value of an attribute in a column or in attrs. It marks the row as dirty
// if the value changes.
func (w *row) set(a *meta.Attr, v any) {
	switch a.Place.Kind {
	case meta.InColumn:
		w.setSlot(a.Place.Slot, v)
	case meta.InAttrs:
		if a.Kind == meta.Boolean && !w.creating() && value.OrUnset(a, w.cur.Attrs.Get(a)) == value.OrUnset(a, v) {
			return
		}
		if w.cur.Attrs.Set(a.Place.Column, v) {
			w.dirty = true
		}
	}
}

func (w *row) setSlot(slot int, v any) {
	if w.cur.Slots[slot] != v {
		w.cur.Slots[slot] = v
		w.dirty = true
	}
}

func (w *row) setState(code int) {
	if w.cur.code != code {
		w.cur.code = code
		w.dirty = true
	}
}

// get returns the stored value of an attribute in a column or in attrs, or nil if there is no
// value.
func (w *row) get(a *meta.Attr) any { return w.cur.Get(a) }

// deletion describes the last deletion of an asset.
type deletion struct {
	state    int   // AssetState before the deletion
	lastLive int64 // moment of the last version before the deletion
	since    int64 // moment of the deletion
	audit    int64 // id of the audit row of the deletion
}

// deletedWith reports whether the command that deleted the owner also deleted the part, and the
// part was not restored since. Both deletions then have the same audit row, and the part has the
// later moment. A part that was deleted before its owner has an earlier moment. A part that was
// restored and deleted again has a live version after the deletion of the owner.
func (d *deletion) deletedWith(owner *deletion) bool {
	return d != nil && owner != nil && d.audit == owner.audit && d.lastLive < owner.since && owner.since < d.since
}
