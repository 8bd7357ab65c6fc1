package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// roleSystemAdmin is what the creator of a project becomes in it, and
// roleTeamMember what a member without a default role does. Shown ids.
const (
	roleSystemAdmin = 1
	roleTeamMember  = 4
)

// ancestry is a row of scope_closure to be written.
type ancestry struct {
	ancestor, descendant int64
	depth                int
	since                int64 // negative until the run is written
}

// addScope gives a new project its place: it is its own security scope, and
// its creator is its first member.
func (r *run) addScope(ctx context.Context, w *row) error {
	w.setSlot(r.e.layout.scope, w.id)
	r.changes.newScopes = append(r.changes.newScopes, w)
	if up, ok := w.typ.Attr("Parent"); ok {
		if id, ok := w.cur.ref(up.Place.Slot); ok {
			if _, err := r.ancestorsOf(ctx, id); err != nil {
				return err
			}
		}
	}
	a, ok := w.typ.Attr("Members")
	if !ok {
		return nil
	}
	h := r.edgeSets[w.id]
	who := r.s.who.Member
	if h.find(a.Place.Code, who) != nil {
		return nil // named among its members: join has made it a member already
	}
	r.changes.addEdge(h, edge{code: a.Place.Code, from: w.id, to: who}, w)
	r.changes.roles = append(r.changes.roles, &role{scope: w.id, member: who, role: r.roleID(roleSystemAdmin), owner: true, by: w})
	return nil
}

func (r *run) roleID(shown int64) int64 {
	if t, ok := r.e.model.Type("Role"); ok {
		return t.Stored(shown)
	}
	return shown
}

// membership returns the relation of projects to their members.
func (r *run) membership() (*meta.Attr, bool) {
	t, ok := r.e.model.Type("Scope")
	if !ok {
		return nil, false
	}
	return t.Attr("Members")
}

// memberAdded gives a member who joins a project the default role there.
func (r *run) memberAdded(ctx context.Context, w *row, relation int, scope, member int64) error {
	if a, ok := r.membership(); !ok || a.Place.Code != relation {
		return nil
	}
	id, err := r.defaultRole(ctx, member)
	if err != nil {
		return err
	}
	r.changes.roles = append(r.changes.roles, &role{scope: scope, member: member, role: id, by: w})
	return nil
}

func (r *run) defaultRole(ctx context.Context, member int64) (int64, error) {
	t, ok := r.e.model.Type("Member")
	if !ok {
		return r.roleID(roleTeamMember), nil
	}
	a, ok := t.Attr("DefaultRole")
	if !ok {
		return r.roleID(roleTeamMember), nil
	}
	h, err := r.edgesFrom(ctx, t, member, a.Place.Code)
	if err != nil {
		return 0, err
	}
	if l := h.one(a.Place.Code); l != nil {
		return l.to, nil
	}
	return r.roleID(roleTeamMember), nil
}

// memberRemoved ends the role of a member who leaves a project.
func (r *run) memberRemoved(w *row, relation int, scope, member int64) {
	if a, ok := r.membership(); ok && a.Place.Code == relation {
		r.changes.roles = append(r.changes.roles, &role{scope: scope, member: member, end: true, by: w})
	}
}

// setRole makes a member's role in a project the given one, joining it if need be.
func (r *run) setRole(ctx context.Context, w *row, scope, member, to int64, owner bool) error {
	a, ok := r.membership()
	if !ok {
		return nil
	}
	t, _ := r.e.model.Type("Scope")
	h, err := r.edgesFrom(ctx, t, scope, a.Place.Code)
	if err != nil {
		return err
	}
	if h.find(a.Place.Code, member) == nil {
		r.changes.addEdge(h, edge{code: a.Place.Code, from: scope, to: member}, w)
	} else {
		same, err := r.hasRole(ctx, role{scope: scope, member: member, role: to, owner: owner})
		if err != nil || same {
			return err
		}
		r.changes.roles = append(r.changes.roles, &role{scope: scope, member: member, end: true, by: w})
	}
	w.dirty, w.forced = true, true
	r.changes.roles = append(r.changes.roles, &role{scope: scope, member: member, role: to, owner: owner, by: w})
	return nil
}

// hasRole reports whether a member has the very role in a project already: by
// what the run did, else by what is stored.
func (r *run) hasRole(ctx context.Context, want role) (bool, error) {
	for _, done := range slices.Backward(r.changes.roles) {
		if done.scope == want.scope && done.member == want.member {
			return done.gives(want), nil
		}
	}
	var now role
	err := r.s.tx.QueryRow(ctx, `SELECT role_id, is_owner FROM scope_member WHERE scope_id = ? AND member_id = ? AND until_moment = ?`,
		want.scope, want.member, forever).Scan(&now.role, &now.owner)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return now.gives(want), err
}

func (o *role) gives(want role) bool { return !o.end && o.role == want.role && o.owner == want.owner }

// ancestorsOf returns a project and all above it.
func (r *run) ancestorsOf(ctx context.Context, id int64) ([]ancestry, error) {
	if own, ok := r.ancestors[id]; ok {
		return own, nil
	}
	rows, err := r.s.tx.Query(ctx, `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ?`, id, forever)
	if err != nil {
		return nil, fmt.Errorf("scope ancestors: %w", err)
	}
	var own []ancestry
	err = each(rows, func() error {
		up := ancestry{descendant: id}
		err := rows.Scan(&up.ancestor, &up.depth)
		own = append(own, up)
		return err
	})
	r.ancestors[id] = own
	return own, err
}

// writeMove ends what a moved project's tree hung on before and hangs it on
// its new ancestors.
func (w *writer) writeMove(ctx context.Context, moved *row, moment int64) error {
	below, err := w.closureIDs(ctx, `SELECT descendant_id, depth FROM scope_closure WHERE ancestor_id = ? AND until_moment = ?`, moved.id)
	if err != nil {
		return err
	}
	old, err := w.closureIDs(ctx, `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ? AND depth > 0`, moved.id)
	if err != nil {
		return err
	}
	for _, up := range old {
		if err := w.endAncestry(ctx, up.id, below, moment); err != nil {
			return err
		}
	}
	parent, ok := moved.typ.Attr("Parent")
	if !ok {
		return nil
	}
	id, ok := moved.cur.ref(parent.Place.Slot)
	if !ok {
		return nil
	}
	above, err := w.closureIDs(ctx, `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ?`, id)
	if err != nil {
		return err
	}
	var fresh []ancestry
	for _, up := range above {
		for _, down := range below {
			fresh = append(fresh, ancestry{up.id, down.id, up.depth + 1 + down.depth, moment})
		}
	}
	if err := w.writeAncestry(ctx, fresh); err != nil {
		return err
	}
	return w.hideMoved(ctx, below, moment)
}

type depthOf struct {
	id    int64
	depth int
}

func (w *writer) closureIDs(ctx context.Context, query string, id int64) ([]depthOf, error) {
	rows, err := w.tx.Query(ctx, query, id, forever)
	if err != nil {
		return nil, fmt.Errorf("scope closure: %w", err)
	}
	var all []depthOf
	err = each(rows, func() error {
		var d depthOf
		err := rows.Scan(&d.id, &d.depth)
		all = append(all, d)
		return err
	})
	return all, err
}

func (w *writer) endAncestry(ctx context.Context, ancestor int64, below []depthOf, moment int64) error {
	for len(below) > 0 {
		n := min(len(below), db.MaxIn)
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = below[i].id
		}
		below = below[n:]
		in, args := db.InArgs(ids)
		_, err := w.tx.Exec(ctx, `UPDATE scope_closure SET until_moment = ? WHERE ancestor_id = ? AND until_moment = ? AND descendant_id IN `+in,
			append([]any{moment, ancestor, forever}, args...)...)
		if err != nil {
			return fmt.Errorf("end scope closure: %w", err)
		}
		if err := w.showMoved(ctx, ancestor, in, args, moment); err != nil {
			return err
		}
	}
	return nil
}

var closureColumns = []string{"ancestor_id", "descendant_id", "since_moment", "until_moment", "depth"}

func (w *writer) writeAncestry(ctx context.Context, all []ancestry) error {
	args := make([]any, len(closureColumns))
	err := db.InsertN(ctx, w.tx, "scope_closure", closureColumns, len(all), func(i int) []any {
		a := all[i]
		args[0], args[1], args[2], args[3], args[4] = a.ancestor, a.descendant, a.since, forever, a.depth
		return args
	})
	if err != nil {
		return fmt.Errorf("write scope closure: %w", err)
	}
	return nil
}
