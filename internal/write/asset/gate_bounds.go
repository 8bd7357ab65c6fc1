package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
)

// checkBounds checks the bounds of the access token. The rights of a member decide about the assets
// that a command names; bounds decide about every asset that the command changes, also as a
// consequence, or because the asset stores the other end of a relation. Only the ranks of other
// assets may change, to make room.
// Errors: fault.Denied. Spec: interface 5.10.
func (g *gate) checkBounds(ctx context.Context, target *row) error {
	b := g.s.who.Bounds
	if b == nil {
		return nil
	}
	for _, w := range g.changes.touched {
		if !w.isChanged() || w != target && w.makesRoom() {
			continue
		}
		if err := g.withinBounds(ctx, w); err != nil {
			return err
		}
	}
	for _, ch := range g.changes.edges[g.changes.start.edges:] {
		if ch.edge.code < 0 || g.s.e.layout.isMembers(ch.edge.code) {
			continue
		}
		holder, err := g.rowOf(ctx, ch.edge.from)
		if err != nil {
			return err
		}
		if holder != nil && holder != target && !b.Changes(holder.typ) {
			return mayNotChange(holder.typ)
		}
	}
	if len(g.changes.asked) > 0 {
		return mayNotGiveRoles()
	}
	for _, r := range g.changes.roles[g.changes.start.roles:] {
		if w := g.loaded.rows[r.scope]; w == nil || !w.creating() || r.member != g.s.who.Member { // else the role of a creator
			return mayNotGiveRoles()
		}
	}
	return nil
}

// withinBounds checks one changed asset. Errors: fault.Denied.
func (g *gate) withinBounds(ctx context.Context, w *row) error {
	b := g.s.who.Bounds
	if !b.Changes(w.typ) {
		return mayNotChange(w.typ)
	}
	isDeleted := w.cur.code == meta.StateDeleted && (w.creating() || w.before.code != meta.StateDeleted)
	if isDeleted && b.NoDeletes {
		return fault.Deniedf("The access token may not delete")
	}
	if b.Projects == nil {
		return nil
	}
	r := &rules{g.unit}
	for _, was := range []bool{true, false} {
		if was && w.creating() {
			continue
		}
		scopes, err := g.placesOf(ctx, w, was)
		if err != nil {
			return err
		}
		inside := slices.ContainsFunc(scopes, func(id int64) bool { return r.seesScope(&id) })
		if !inside && (len(scopes) > 0 || !isSeenByMention(w.typ)) {
			return fault.Deniedf("The access token may not change assets outside of its projects")
		}
	}
	return nil
}

// placesOf returns the projects to which an asset belongs, before or after the command. As for the
// rights of members, one project within the bounds is enough.
func (g *gate) placesOf(ctx context.Context, w *row, was bool) ([]int64, error) {
	if w.typ.Rights.Lies != nil {
		return g.liesIn(ctx, w.typ, w.id, was)
	}
	st := w.cur
	if was {
		st = w.before
	}
	if id, ok := st.ref(g.s.e.layout.scope); ok {
		return []int64{id}, nil
	}
	return nil, nil
}

// isSeenByMention reports whether assets of a type belong to no project but are seen by the members
// who see the assets that they mention, such as the expressions of a conversation.
func isSeenByMention(t *meta.Type) bool {
	return t.Secured == meta.Secured{} && t.Rights.Lies == nil && len(t.Seen.Through) > 0
}

// isChanged reports whether the current command changes the row.
func (w *row) isChanged() bool {
	return w.links != 0 || w.dirty && (w.forced || w.creating() || !w.cur.same(w.before))
}

// makesRoom reports whether the current command changes only the rank of the row, so that another
// asset gets a rank beside it.
func (w *row) makesRoom() bool {
	a, ok := w.typ.Attr("Order")
	if !ok || a.Place.Kind != meta.InColumn || w.links != 0 || w.forced || w.creating() {
		return false
	}
	before := w.before.clone()
	before.Slots[a.Place.Slot] = w.cur.Slots[a.Place.Slot]
	return w.cur.same(before)
}

func mayNotChange(t *meta.Type) error {
	return fault.Deniedf("The access token may not change a %s", t.Name)
}

func mayNotGiveRoles() error {
	return fault.Deniedf("The access token has bounds and may not give roles")
}
