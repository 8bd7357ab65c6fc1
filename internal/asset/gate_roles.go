package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// checkRoles checks the roles in projects that a command gives and takes: whether
// the caller manages the members of the project, and that neither role stands
// above the caller's own there.
func (g *gate) checkRoles(ctx context.Context, c *Command, target *row) error {
	k := g.s.e.layout.membersRights
	refusal := func() error {
		if c.Verb == Operate {
			return denied(target.typ, meta.ToOperate, c.Op)
		}
		return denied(g.s.e.layout.members.On, meta.ToChange, g.s.e.layout.members.Name)
	}
	for _, all := range [...][]role{g.changes.asked, g.changes.roles[g.changes.start.roles:]} {
		for _, r := range all {
			own := g.roleIn(r.scope)
			if !k.Roles(meta.ToChange, g.s.e.layout.members.Name).Has(own) {
				return refusal()
			}
			concerned := g.numbered(r.role)
			if r.end {
				var err error
				if concerned, err = g.heldIn(ctx, r.scope, r.member); err != nil {
					return err
				}
			}
			if g.s.e.model.Rights.Above(concerned, own) {
				return refusal()
			}
		}
	}
	return nil
}

// heldIn returns the role that a member holds in a project itself.
func (g *gate) heldIn(ctx context.Context, scope, member int64) (meta.Role, error) {
	var held int64
	err := g.s.tx.QueryRow(ctx, `SELECT role_id FROM scope_member WHERE scope_id = ? AND member_id = ? AND until_moment = ?`,
		scope, member, db.Forever).Scan(&held)
	if fault.KindOf(err) == fault.NotFound {
		return meta.NoAccess, nil
	}
	return g.numbered(held), err
}
