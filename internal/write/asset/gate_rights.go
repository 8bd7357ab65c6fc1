package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// may reports whether the caller has a right to an asset. If the parameter was is true, may
// considers the asset before the command, else after the command. The caller counts as the creator
// of a new asset.
func (g *gate) may(ctx context.Context, w *row, was bool, verb meta.Verb, name string) (bool, error) {
	r := &w.typ.Rights
	if r.On != nil {
		return g.mayOn(ctx, w, was)
	}
	k := w.typ.KindOf(name)
	switch {
	case k.System:
		return g.maySystem(ctx, w, k, verb, name)
	case k != r.Kind && !w.typ.Secured.Self:
		return true, nil // checkRoles checks roles in projects
	}
	scopes, err := g.scopesOf(ctx, w, k, was)
	if err != nil {
		return false, err
	}
	set := k.Roles(verb, name)
	switch {
	case len(scopes) > 0:
		if !g.holdsIn(scopes, set) {
			return false, nil
		}
	case !k.Own && !g.made(w), g.s.who.Held&set == 0:
		return false, nil
	}
	if !k.Own {
		return true, nil
	}
	own, err := g.isOwn(ctx, w, was)
	moderators := k.Roles(meta.ToModerate, "")
	return own || g.holdsIn(scopes, moderators) || moderators.Has(g.s.who.System), err
}

// mayOn reports whether the caller may change the asset to which Rights.On of w refers. If w
// refers to no asset, the caller must have created w, and must have a role with the right in at
// least one project.
func (g *gate) mayOn(ctx context.Context, w *row, was bool) (bool, error) {
	ids, err := g.relatedIDs(ctx, w.typ, w.id, w.typ.Rights.On, was)
	if err != nil {
		return false, err
	}
	if len(ids) > 0 {
		on, err := g.rowOf(ctx, ids[0])
		if err != nil || on == nil {
			return false, err
		}
		return g.may(ctx, on, false, meta.ToChange, "")
	}
	return g.made(w) && g.s.who.Held&w.typ.Rights.Kind.Roles(meta.ToChange, "") != 0, nil
}

// maySystem is the part of may for assets that belong to the whole system. A Member Admin may
// change members who have no higher role. Every caller may change some attributes of the caller's
// own member.
func (g *gate) maySystem(ctx context.Context, w *row, k *meta.RightsKind, verb meta.Verb, name string) (bool, error) {
	who, set := &g.s.who, k.Roles(verb, name)
	isMember := w.typ == g.s.e.layout.member
	switch {
	case verb == meta.ToRelate:
		return who.Held&set != 0, nil
	case isMember && w.id == who.Member && verb == meta.ToChange && slices.Contains(g.s.e.model.Rights.Self, name):
		return true, nil
	case !set.Has(who.System):
		return false, nil
	case !isMember:
		return true, nil
	}
	held, err := g.rolesOf(ctx, w)
	return !slices.ContainsFunc(held, func(r meta.Role) bool { return g.s.e.model.Rights.Above(r, who.System) }), err
}

// rolesOf returns all roles of a member: the default role before and after the command, and
// the roles in projects.
func (g *gate) rolesOf(ctx context.Context, w *row) ([]meta.Role, error) {
	a := g.s.e.layout.defaultRole
	ids, err := g.relatedIDs(ctx, w.typ, w.id, a, false)
	if err != nil {
		return nil, err
	}
	if !w.isNew {
		before, err := g.relatedIDs(ctx, w.typ, w.id, a, true)
		if err != nil {
			return nil, err
		}
		const query = `SELECT DISTINCT role_id FROM scope_member WHERE member_id = ? AND until_moment = ?`
		inProjects, err := db.Column[int64](ctx, g.s.tx, query, w.id, db.Forever)
		if err != nil {
			return nil, err
		}
		ids = slices.Concat(ids, before, inProjects)
	}
	roles := make([]meta.Role, len(ids))
	for i, id := range ids {
		roles[i] = g.numbered(id)
	}
	return roles, nil
}

func (g *gate) numbered(role int64) meta.Role {
	return meta.RoleNumbered(g.s.e.layout.role.Shown(role))
}

// made reports whether the caller created an asset.
func (g *gate) made(w *row) bool { return w.creating() || w.cur.createdBy == g.s.who.Member }

// isOwn reports whether an asset belongs to the caller (Rights.Own).
func (g *gate) isOwn(ctx context.Context, w *row, was bool) (bool, error) {
	if w.typ.Rights.Own == nil {
		return g.made(w), nil
	}
	ids, err := g.relatedIDs(ctx, w.typ, w.id, w.typ.Rights.Own, was)
	return slices.Contains(ids, g.s.who.Member), err
}

// holdsIn reports whether the caller's role in at least one of the scopes is in a set.
func (g *gate) holdsIn(scopes []int64, set meta.RoleSet) bool {
	return slices.ContainsFunc(scopes, func(id int64) bool { return set.Has(g.roleIn(id)) })
}

// roleIn returns the caller's role in a project. In a project that the request has created,
// the caller is System Admin.
func (g *gate) roleIn(scope int64) meta.Role {
	if w := g.loaded.rows[scope]; w != nil && w.isNew || g.s.createdScopes[scope] {
		return meta.SystemAdmin
	}
	return g.s.who.RoleIn(scope)
}

// scopesOf returns the projects whose roles give rights to an asset. For a new project, this is
// the parent project. For rights to the members of a new project, it is the new project itself.
func (g *gate) scopesOf(ctx context.Context, w *row, k *meta.RightsKind, was bool) ([]int64, error) {
	st := w.cur
	if was && w.before != nil {
		st = w.before
	}
	slot := g.s.e.layout.scope
	switch {
	case w.typ.Rights.Lies != nil:
		return g.liesIn(ctx, w.typ, w.id, was)
	case w.typ.Secured.Self && w.creating() && k == w.typ.Rights.Kind:
		if a, ok := w.typ.Attr("Parent"); ok {
			slot = a.Place.Slot
		}
	}
	if id, ok := st.ref(slot); ok {
		return []int64{id}, nil
	}
	return nil, nil
}

// liesIn returns the projects of the assets to which Rights.Lies refers.
func (g *gate) liesIn(ctx context.Context, t *meta.Type, id int64, was bool) ([]int64, error) {
	ids, err := g.relatedIDs(ctx, t, id, t.Rights.Lies, was)
	var scopes []int64
	for _, to := range ids {
		found, ok, ferr := g.loaded.find(ctx, to)
		switch {
		case ferr != nil:
			return nil, ferr
		case !ok:
		case found.typ.Rights.Lies != nil:
			further, err := g.liesIn(ctx, found.typ, to, was)
			if err != nil {
				return nil, err
			}
			scopes = append(scopes, further...)
		default:
			if scope, ok := found.slot(g.s.e.layout, g.s.e.layout.scope).(int64); ok {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes, err
}

// relatedIDs returns the ids to which a relation refers. If the parameter was is true, these are
// the ids before the command, else the ids after the command. If other assets store the relation,
// the ids are read from the database.
func (g *gate) relatedIDs(ctx context.Context, t *meta.Type, id int64, a *meta.Attr, was bool) ([]int64, error) {
	var ids []int64
	var err error
	back := a.Place.Kind == meta.InLinksBack
	if back {
		if ids, err = g.loaded.linkedTo(ctx, a.Back.On.Name, a.Back.Name, id); err != nil {
			return nil, err
		}
		ids = g.changes.withCommitted(ids, a.Place.Code, id)
	} else {
		edges, err := g.loaded.edgesFrom(ctx, t, id, a.Place.Code)
		if err != nil {
			return nil, err
		}
		for _, e := range edges.current(a.Place.Code) {
			ids = append(ids, e.to)
		}
	}
	for _, ch := range g.changes.edges[g.changes.start.edges:] {
		near, far := ch.edge.from, ch.edge.to
		if back {
			near, far = far, near
		}
		// If back is true, ids contains the ids before the command, otherwise the ids after the
		// command.
		if back == was || ch.edge.code != a.Place.Code || near != id {
			continue
		}
		if (ch.set != nil) == back {
			ids = append(ids, far)
		} else {
			ids = slices.DeleteFunc(ids, func(other int64) bool { return other == far })
		}
	}
	return ids, nil
}
