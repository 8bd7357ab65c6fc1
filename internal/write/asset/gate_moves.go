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
	for _, w := range g.changes.movedScopes[g.changes.start.movedScopes:] {
		before, own, err := g.rolesIn(ctx, w.id)
		if err != nil {
			return err
		}
		for _, r := range g.changes.roles[g.changes.start.roles:] {
			if r.scope == w.id {
				own[r.member] = !r.end
			}
		}
		up, _ := w.typ.Attr("Parent")
		after, _, err := g.rolesIn(ctx, w.cur.refOr(up.Place.Slot))
		if err != nil {
			return err
		}
		for member, role := range after {
			if own[member] || !g.isRaised(before[member], role) || g.mayGive(w.id, role) {
				continue
			}
			admin, err := g.administers(ctx, member)
			if err != nil {
				return err
			}
			if !admin {
				return denied(w.typ, meta.ToChange, up.Name)
			}
		}
	}
	return nil
}

// isRaised reports whether the new role ranks above the old role, or the new role may read
// projects and the old role may not.
func (g *gate) isRaised(oldRole, newRole meta.Role) bool {
	return g.s.e.model.Rights.Above(newRole, oldRole) || newRole.Reads() && !oldRole.Reads()
}

// rolesIn returns the role of each member in a project. A member has a role in the project
// itself, or inherits one from a project above. own contains the members who have a role in the
// project itself. The roles in a new project come from the changes of the batch.
func (g *gate) rolesIn(ctx context.Context, scope int64) (roles map[int64]meta.Role, own map[int64]bool, err error) {
	roles, own = map[int64]meta.Role{}, map[int64]bool{}
	above := scope
	for w := g.loaded.rows[above]; w != nil && w.isNew; w = g.loaded.rows[above] {
		for _, r := range g.changes.roles {
			if _, nearer := roles[r.member]; r.scope == above && !r.end && !nearer {
				roles[r.member], own[r.member] = g.numbered(r.role), above == scope
			}
		}
		up, _ := w.typ.Attr("Parent")
		above = w.cur.refOr(up.Place.Slot)
	}
	const query = `SELECT m.member_id, m.scope_id, m.role_id FROM scope_closure c` +
		` JOIN scope_member m ON m.scope_id = c.ancestor_id` +
		` WHERE c.descendant_id = ? AND c.until_moment = ? AND m.until_moment = ? ORDER BY c.depth`
	err = db.Each(ctx, g.s.tx, query, []any{above, db.Forever, db.Forever}, func(scan db.Scanner) error {
		var member, in, role int64
		err := scan.Scan(&member, &in, &role)
		if _, nearer := roles[member]; err == nil && !nearer {
			roles[member], own[member] = g.numbered(role), in == scope
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read roles above a project: %w", err)
	}
	return roles, own, nil
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
