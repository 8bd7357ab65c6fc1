package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// note adds an event to the events that trail writes.
func (w *writer) note(k trail.Kind, member int64, project *int64, d trail.Detail) {
	w.events = append(w.events, trail.Event{Kind: k, Actor: w.s.who.Member, Member: member, Project: project, Detail: d})
}

// roleToken returns the Oid of a role, or an empty text if there is no role.
func (w *writer) roleToken(id int64) string {
	if t := w.layout.role; t != nil && id != 0 {
		return oid.OID{Type: t.Name, ID: t.Shown(id)}.String()
	}
	return ""
}

// noteEnd notes the end of the role that a member has in a project. It must be called before the
// end is written, because it reads the role.
func (w *writer) noteEnd(ctx context.Context, o *role) error {
	query := `SELECT role_id FROM scope_member WHERE scope_id = ? AND member_id = ? AND until_moment = ?`
	ended, err := db.Column[int64](ctx, w.tx, query, o.scope, o.member, db.Forever)
	if err != nil {
		return fmt.Errorf("read the ended role: %w", err)
	}
	for _, id := range ended {
		w.note(trail.RoleEnded, o.member, trail.In(o.scope), trail.Detail{Role: w.roleToken(id)})
	}
	return nil
}

// noteDefaultRoles notes an event for each member whose default role the batch has changed.
func (w *writer) noteDefaultRoles() {
	a := w.layout.defaultRole
	if a == nil {
		return
	}
	type change struct{ before, now int64 }
	changes := map[int64]*change{}
	var members []int64 // the keys of changes, in the order of the commands
	for _, ch := range w.changes.edges {
		if ch.edge.code != a.Place.Code {
			continue
		}
		c := changes[ch.edge.from]
		if c == nil {
			c = &change{}
			changes[ch.edge.from] = c
			if members = append(members, ch.edge.from); ch.set == nil {
				c.before = ch.edge.to
			}
		}
		if c.now = 0; ch.set != nil {
			c.now = ch.edge.to
		}
	}
	for _, id := range members {
		if c := changes[id]; c.now != c.before {
			w.note(trail.DefaultRoleChanged, id, nil,
				trail.Detail{Role: w.roleToken(c.now), PreviousRole: w.roleToken(c.before)})
		}
	}
}

// noteLogins notes an event for each member that the batch has closed, reopened, deleted or
// restored, or whose login it has disabled or enabled.
func (w *writer) noteLogins() {
	active := &state{code: meta.StateActive}
	for _, m := range w.changes.made {
		w.noteLogin(m, active)
	}
	for _, m := range w.changes.changed {
		w.noteLogin(m, m.stored)
	}
}

// noteLogin notes an event if a value has changed that decides whether a member may log in. The
// parameter was is the state before the batch.
func (w *writer) noteLogin(m *row, was *state) {
	a := w.layout.loginDisabled
	if a == nil || m.typ != a.On {
		return
	}
	var changed []string
	disabled := m.cur.Attrs.Get(a) == true
	if disabled != (was.Attrs.Get(a) == true) {
		changed = append(changed, a.Name)
	}
	if m.cur.code != was.code {
		changed = append(changed, "AssetState")
	}
	if changed == nil {
		return
	}
	may := !disabled && m.cur.code < meta.StateClosed
	w.note(trail.LoginChanged, m.id, nil, trail.Detail{Changed: changed, MayLogIn: &may})
}

// trail writes the events of the batch to the audit trail.
func (w *writer) trail(ctx context.Context) error {
	w.noteLogins()
	w.noteDefaultRoles()
	return trail.Record(ctx, w.tx, w.events...)
}

// noteImport writes an event to the audit trail if the import has changed anything.
func (s *Session) noteImport(ctx context.Context) error {
	if s.last == 0 {
		return nil
	}
	return trail.Record(ctx, s.tx, trail.Event{
		Kind: trail.Imported, Actor: s.who.Member, Detail: trail.Detail{Request: s.req.ID, Assets: s.named},
	})
}
