package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// checkMoves returns an error if a project is moved, a member then inherits a higher role in the
// project, and the caller may not give that role. The projects below the moved project need no
// check. In these projects a member has the same role, or a separate role that does not change.
// Errors: fault.Denied.
func (g *gate) checkMoves(ctx context.Context) error {
	return g.eachMove(ctx, func(w *row, before, after rolesIn) error {
		for _, r := range g.changes.roles[g.changes.start.roles:] {
			if r.scope == w.id {
				before.own[r.member] = !r.end
			}
		}
		for member, role := range after.nearest {
			if before.own[member] || !g.isRaised(before.nearest[member], role) {
				continue
			}
			if err := g.mayRaise(ctx, w, before, member, role); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkPower returns an error if a project is moved below a project in which a member may give higher
// roles than in the projects above it before, and the caller may not give these roles. Otherwise a
// Project Admin could create a project, as its System Admin, move another project below it, and give
// others the role System Admin in both.
// Errors: fault.Denied.
func (g *gate) checkPower(ctx context.Context) error {
	return g.eachMove(ctx, func(w *row, before, after rolesIn) error {
		who := g.s.who.Member
		// Earlier commands of the request may have lowered the role that the request still uses.
		if used := g.roleIn(g.parentOf(w)); g.gives(used) && g.s.e.model.Rights.Above(used, after.giving[who]) {
			after.giving[who] = used
		}
		for member, role := range after.giving {
			if !g.s.e.model.Rights.Above(role, before.giving[member]) {
				continue
			}
			if err := g.mayRaise(ctx, w, before, member, role); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachMove calls fn for each project that the command has moved, with the roles in the project before,
// and the roles in its new parent.
func (g *gate) eachMove(ctx context.Context, fn func(w *row, before, after rolesIn) error) error {
	for _, w := range g.changes.movedScopes[g.changes.start.movedScopes:] {
		before, err := g.rolesIn(ctx, w.id)
		if err != nil {
			return err
		}
		after, err := g.rolesIn(ctx, g.parentOf(w))
		if err != nil {
			return err
		}
		if err := fn(w, before, after); err != nil {
			return err
		}
	}
	return nil
}

// parentOf returns the stored id of the parent of a project, or noID.
func (g *gate) parentOf(w *row) int64 {
	up, _ := w.typ.Attr("Parent")
	return w.cur.refOr(up.Place.Slot)
}

// mayRaise returns an error if a moved project gives a member a role that the caller may not give there,
// and the member is not System Admin. Earlier commands of the request may have lowered the role of
// the caller; the caller needs the right with both roles.
// Errors: fault.Denied.
func (g *gate) mayRaise(ctx context.Context, moved *row, before rolesIn, member int64, role meta.Role) error {
	own := before.nearest[g.s.who.Member]
	if g.mayGive(moved.id, role) && g.gives(own) && !g.s.e.model.Rights.Above(role, own) {
		return nil
	}
	admin, err := g.administers(ctx, member)
	if err == nil && !admin {
		err = denied(moved.typ, meta.ToChange, "Parent")
	}
	return err
}

// gives reports whether a member with a role in a project may give roles in the project.
func (g *gate) gives(role meta.Role) bool {
	l := g.s.e.layout
	return l.membersRights.Roles(meta.ToChange, l.members.Name).Has(role)
}

// isRaised reports whether the new role ranks above the old role, or the new role may read
// projects and the old role may not.
func (g *gate) isRaised(oldRole, newRole meta.Role) bool {
	return g.s.e.model.Rights.Above(newRole, oldRole) || newRole.Reads() && !oldRole.Reads()
}

// rolesIn are the roles of members in a project. The keys are stored ids of members.
type rolesIn struct {
	nearest map[int64]meta.Role // the role that applies: in the project itself, or in the nearest project above
	own     map[int64]bool      // members who have a role in the project itself
	giving  map[int64]meta.Role // the highest role, in the project or above it, with which a member may give roles
}

func (g *gate) addRole(in *rolesIn, member int64, role meta.Role, own bool) {
	if _, nearer := in.nearest[member]; !nearer {
		in.nearest[member], in.own[member] = role, own
	}
	if g.gives(role) && g.s.e.model.Rights.Above(role, in.giving[member]) {
		in.giving[member] = role
	}
}

// rolesIn returns the roles of members in a project. The roles in a new project come from the changes
// of the batch.
func (g *gate) rolesIn(ctx context.Context, scope int64) (rolesIn, error) {
	in := rolesIn{map[int64]meta.Role{}, map[int64]bool{}, map[int64]meta.Role{}}
	above := scope
	for w := g.loaded.rows[above]; w != nil && w.isNew; w = g.loaded.rows[above] {
		for _, r := range g.changes.roles {
			if r.scope == above && !r.end {
				g.addRole(&in, r.member, g.numbered(r.role), above == scope)
			}
		}
		up, _ := w.typ.Attr("Parent")
		above = w.cur.refOr(up.Place.Slot)
	}
	const query = `SELECT m.member_id, m.scope_id, m.role_id FROM scope_closure c` +
		` JOIN scope_member m ON m.scope_id = c.ancestor_id` +
		` WHERE c.descendant_id = ? AND c.until_moment = ? AND m.until_moment = ? ORDER BY c.depth`
	err := db.Each(ctx, g.s.tx, query, []any{above, db.Forever, db.Forever}, func(scan db.Scanner) error {
		var member, at, role int64
		err := scan.Scan(&member, &at, &role)
		if err == nil {
			g.addRole(&in, member, g.numbered(role), at == scope)
		}
		return err
	})
	if err != nil {
		return in, fmt.Errorf("read roles above a project: %w", err)
	}
	return in, nil
}

// administers reports whether a member is System Admin, either by the default role or by the role
// in the root project.
func (g *gate) administers(ctx context.Context, member int64) (bool, error) {
	l := g.s.e.layout
	var held int
	admin := l.roleID(int64(meta.SystemAdmin))
	err := g.s.tx.QueryRow(ctx, `SELECT CASE WHEN EXISTS (SELECT 1 FROM asset_link WHERE relation = ? AND from_type = ?`+
		` AND from_id = ? AND to_id = ? AND until_moment = ?)`+
		` OR EXISTS (SELECT 1 FROM scope_member WHERE member_id = ? AND scope_id = 0`+
		` AND role_id = ? AND until_moment = ?) THEN 1 ELSE 0 END`,
		l.defaultRole.Place.Code, l.member.Code, member, admin, db.Forever, member, admin, db.Forever).Scan(&held)
	if err != nil {
		return false, fmt.Errorf("look for an administrator: %w", err)
	}
	return held == 1, nil
}
