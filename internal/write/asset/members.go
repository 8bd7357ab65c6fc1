package asset

import "context"

// The ids of roles in their Oids; layout.roleID returns the stored ids.
const (
	roleSystemAdmin = 1 // the role that the creator of a project gets in the project
	roleTeamMember  = 4 // the role of a member without a default role
)

// members changes the members of projects and their roles.
type members struct {
	unit
	rules *rules
}

// addScope makes a new project its own security scope, and its creator a member. It also loads
// the ancestors of the project, which changes.dateChanges needs.
func (m *members) addScope(ctx context.Context, w *row) error {
	w.setSlot(m.s.e.layout.scope, w.id)
	m.changes.newScopes = append(m.changes.newScopes, w)
	if up, ok := w.typ.Attr("Parent"); ok {
		if id, ok := w.cur.ref(up.Place.Slot); ok {
			if err := m.loaded.loadAncestors(ctx, id); err != nil {
				return err
			}
		}
	}
	a, ok := w.typ.Attr("Members")
	if !ok {
		return nil
	}
	edges, who := m.loaded.edgeSets[w.id], m.s.who.Member
	if edges.find(a.Place.Code, who) != nil {
		return nil // the command already made the creator a member, with a role
	}
	m.changes.addEdge(edges, edge{code: a.Place.Code, from: w.id, to: who}, w)
	m.addRole(w, role{scope: w.id, member: who, role: m.s.e.layout.roleID(roleSystemAdmin), owner: true})
	return nil
}

// addRole records that a role begins or ends. The parameter by is the asset whose version records
// the change.
func (m *members) addRole(by *row, o role) {
	o.by = by
	m.changes.roles = append(m.changes.roles, o)
}

// added is called for a new link. If the link makes a member join a project, the member gets the
// default role in the project.
func (m *members) added(ctx context.Context, w *row, relation int, scope, member int64) error {
	if !m.s.e.layout.isMembers(relation) {
		return nil
	}
	id, err := m.defaultRole(ctx, member)
	if err != nil {
		return err
	}
	m.addRole(w, role{scope: scope, member: member, role: id})
	return nil
}

// removed is called for a link that ends. If the member leaves a project because of this, the
// role of the member in the project ends, too.
func (m *members) removed(w *row, relation int, scope, member int64) {
	if m.s.e.layout.isMembers(relation) {
		m.addRole(w, role{scope: scope, member: member, end: true})
	}
}

// defaultRole returns the stored id of the default role of a member.
func (m *members) defaultRole(ctx context.Context, member int64) (int64, error) {
	if a := m.s.e.layout.defaultRole; a != nil {
		edges, err := m.loaded.edgesFrom(ctx, a.On, member, a.Place.Code)
		if err != nil {
			return 0, err
		}
		if e := edges.one(a.Place.Code); e != nil {
			return e.to, nil
		}
	}
	return m.s.e.layout.roleID(roleTeamMember), nil
}

// setRole sets the role of a member in a project. A member who is not in the project joins it. w
// is the asset whose version records the change. The parameter to is the stored id of the role.
func (m *members) setRole(ctx context.Context, w *row, scope, member, to int64, owner bool) error {
	a := m.s.e.layout.members
	if a == nil {
		return nil
	}
	if err := m.loaded.lockHolder(ctx, scope); err != nil {
		return err
	}
	edges, err := m.loaded.edgesFrom(ctx, a.On, scope, a.Place.Code)
	if err != nil {
		return err
	}
	given := role{scope: scope, member: member, role: to, owner: owner}
	m.changes.asked = append(m.changes.asked, given)
	if edges.find(a.Place.Code, member) == nil {
		m.changes.addEdge(edges, edge{code: a.Place.Code, from: scope, to: member}, w)
	} else {
		same, err := m.rules.hasRole(ctx, given)
		if err != nil || same {
			return err
		}
		m.addRole(w, role{scope: scope, member: member, end: true})
	}
	w.dirty, w.forced = true, true
	m.addRole(w, given)
	return nil
}
