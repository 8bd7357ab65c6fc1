package asset

import "context"

// members changes who belongs to a project, and in which role.
type members struct {
	s       *Session
	loaded  *loaded
	changes *changes
	rules   *rules
}

// addScope gives a new project its place: it is its own security scope, and
// its creator is its first member.
func (m *members) addScope(ctx context.Context, w *row) error {
	w.setSlot(m.s.e.layout.scope, w.id)
	m.changes.newScopes = append(m.changes.newScopes, w)
	if up, ok := w.typ.Attr("Parent"); ok {
		if id, ok := w.cur.ref(up.Place.Slot); ok {
			if _, err := m.loaded.ancestorsOf(ctx, id); err != nil {
				return err
			}
		}
	}
	a, ok := w.typ.Attr("Members")
	if !ok {
		return nil
	}
	h := m.loaded.edgeSets[w.id]
	who := m.s.who.Member
	if h.find(a.Place.Code, who) != nil {
		return nil // named among its members: join has made it a member already
	}
	m.changes.addEdge(h, edge{code: a.Place.Code, from: w.id, to: who}, w)
	m.changes.roles = append(m.changes.roles, &role{scope: w.id, member: who, role: m.loaded.roleID(roleSystemAdmin), owner: true, by: w})
	return nil
}

// memberAdded gives a member who joins a project the default role there.
func (m *members) memberAdded(ctx context.Context, w *row, relation int, scope, member int64) error {
	if a, ok := m.loaded.membership(); !ok || a.Place.Code != relation {
		return nil
	}
	id, err := m.defaultRole(ctx, member)
	if err != nil {
		return err
	}
	m.changes.roles = append(m.changes.roles, &role{scope: scope, member: member, role: id, by: w})
	return nil
}

// memberRemoved ends the role of a member who leaves a project.
func (m *members) memberRemoved(w *row, relation int, scope, member int64) {
	if a, ok := m.loaded.membership(); ok && a.Place.Code == relation {
		m.changes.roles = append(m.changes.roles, &role{scope: scope, member: member, end: true, by: w})
	}
}

func (m *members) defaultRole(ctx context.Context, member int64) (int64, error) {
	t, ok := m.s.e.model.Type("Member")
	if !ok {
		return m.loaded.roleID(roleTeamMember), nil
	}
	a, ok := t.Attr("DefaultRole")
	if !ok {
		return m.loaded.roleID(roleTeamMember), nil
	}
	h, err := m.loaded.edgesFrom(ctx, t, member, a.Place.Code)
	if err != nil {
		return 0, err
	}
	if l := h.one(a.Place.Code); l != nil {
		return l.to, nil
	}
	return m.loaded.roleID(roleTeamMember), nil
}

// setRole makes a member's role in a project the given one, joining it if need be.
func (m *members) setRole(ctx context.Context, w *row, scope, member, to int64, owner bool) error {
	a, ok := m.loaded.membership()
	if !ok {
		return nil
	}
	t, _ := m.s.e.model.Type("Scope")
	h, err := m.loaded.edgesFrom(ctx, t, scope, a.Place.Code)
	if err != nil {
		return err
	}
	if h.find(a.Place.Code, member) == nil {
		m.changes.addEdge(h, edge{code: a.Place.Code, from: scope, to: member}, w)
	} else {
		same, err := m.rules.hasRole(ctx, role{scope: scope, member: member, role: to, owner: owner})
		if err != nil || same {
			return err
		}
		m.changes.roles = append(m.changes.roles, &role{scope: scope, member: member, end: true, by: w})
	}
	w.dirty, w.forced = true, true
	m.changes.roles = append(m.changes.roles, &role{scope: scope, member: member, role: to, owner: owner, by: w})
	return nil
}
