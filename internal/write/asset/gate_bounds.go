package asset

import (
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
)

// checkBounds checks the bounds of the access token. The rights of a member decide about the assets
// that a command names; bounds decide about every asset that the command changes, also as a
// consequence.
// Errors: fault.Denied. Spec: interface 5.10.
func (g *gate) checkBounds() error {
	if g.s.who.Bounds == nil {
		return nil
	}
	for _, w := range g.changes.touched {
		if !w.isChanged() {
			continue
		}
		if err := g.withinBounds(w); err != nil {
			return err
		}
	}
	if len(g.changes.asked) > 0 {
		return fault.Deniedf("The access token has bounds and may not give roles")
	}
	for _, r := range g.changes.roles[g.changes.start.roles:] {
		if w := g.loaded.rows[r.scope]; w == nil || !w.creating() || r.member != g.s.who.Member { // else the role of a creator
			return fault.Deniedf("The access token has bounds and may not give roles")
		}
	}
	return nil
}

// withinBounds checks one changed asset. Errors: fault.Denied.
func (g *gate) withinBounds(w *row) error {
	b := g.s.who.Bounds
	if !b.Changes(w.typ) {
		return fault.Deniedf("The access token may not change a %s", w.typ.Name)
	}
	isDeleted := w.cur.code == meta.StateDeleted && (w.creating() || w.before.code != meta.StateDeleted)
	if isDeleted && b.Kept {
		return fault.Deniedf("The access token may not delete")
	}
	if !b.LimitsReading() {
		return nil
	}
	for _, st := range []*state{w.before, w.cur} {
		if scope, ok := st.ref(g.s.e.layout.scope); ok && !(&rules{g.unit}).seesScope(&scope) {
			return fault.Deniedf("The access token may not change assets outside of its projects")
		}
	}
	return nil
}

// isChanged reports whether the current command changes the row.
func (w *row) isChanged() bool {
	return w.links != 0 || w.dirty && (w.forced || w.creating() || !w.cur.same(w.before))
}
