package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// checkRoles checks the roles in projects that a command sets or ends. The caller must have the
// right to manage the members of the project. The caller may neither set nor end a role above the
// caller's own role in that project. See mayTake for the role that a member inherits afterwards.
// Errors: fault.Denied.
func (g *gate) checkRoles(ctx context.Context, c *Command, target *row) error {
	refusal := func() error {
		if c.Verb == Operate {
			return denied(target.typ, meta.ToOperate, c.Op)
		}
		return denied(g.s.e.layout.members.On, meta.ToChange, g.s.e.layout.members.Name)
	}
	for _, all := range [...][]role{g.changes.asked, g.changes.roles[g.changes.start.roles:]} {
		for _, r := range all {
			ok := g.mayGive(r.scope, g.numbered(r.role))
			if r.end {
				var err error
				if ok, err = g.mayTake(ctx, r); err != nil {
					return err
				}
			}
			if !ok {
				return refusal()
			}
		}
	}
	return nil
}

// mayTake reports whether the caller may end the role that a member has in a project. If the
// member then inherits a higher role, the caller must be allowed to give that role, or the member
// must be System Admin.
func (g *gate) mayTake(ctx context.Context, r role) (bool, error) {
	held, err := g.heldIn(ctx, r.scope, r.member)
	if err != nil || !g.mayGive(r.scope, held) {
		return false, err
	}
	if slices.ContainsFunc(g.changes.roles[g.changes.start.roles:], func(o role) bool {
		return !o.end && o.scope == r.scope && o.member == r.member
	}) {
		return true, nil // the member gets another role
	}
	above, err := g.inherited(ctx, r.scope, r.member)
	if err != nil || !g.isRaised(held, above) || g.mayGive(r.scope, above) {
		return err == nil, err
	}
	return g.administers(ctx, r.member)
}

// inherited returns the role that a member inherits from the projects above a project, or No
// Access.
func (g *gate) inherited(ctx context.Context, scope, member int64) (meta.Role, error) {
	var held int64
	err := g.s.tx.QueryRow(ctx, `SELECT m.role_id FROM scope_closure c JOIN scope_member m ON m.scope_id = c.ancestor_id`+
		` WHERE c.descendant_id = ? AND c.depth > 0 AND c.until_moment = ?`+
		` AND m.member_id = ? AND m.until_moment = ? ORDER BY c.depth LIMIT 1`,
		scope, db.Forever, member, db.Forever).Scan(&held)
	return g.numberedIf(held, err)
}

// mayGive reports whether the caller may set or end a role in a project.
func (g *gate) mayGive(scope int64, role meta.Role) bool {
	own := g.roleIn(scope)
	return g.gives(own) && !g.s.e.model.Rights.Above(role, own)
}

// heldIn returns the role that a member has in the project itself, or No Access.
func (g *gate) heldIn(ctx context.Context, scope, member int64) (meta.Role, error) {
	var held int64
	const query = `SELECT role_id FROM scope_member WHERE scope_id = ? AND member_id = ? AND until_moment = ?`
	err := g.s.tx.QueryRow(ctx, query, scope, member, db.Forever).Scan(&held)
	return g.numberedIf(held, err)
}

// numberedIf returns the role with the id that a query has read. It returns No Access if err
// is fault.NotFound.
func (g *gate) numberedIf(role int64, err error) (meta.Role, error) {
	if fault.KindOf(err) == fault.NotFound {
		return meta.NoAccess, nil
	}
	return g.numbered(role), err
}
