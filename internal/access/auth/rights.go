package auth

import (
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

const rootScope = 0

// roles is the part of the model that rights are read by.
type roles struct {
	member   *meta.Type
	relation int // link code of Member.DefaultRole
	role     *meta.Type
	order    *meta.Rights // of roles

	disabledKey string // of Member.IsLoginDisabled in asset.attrs
	usernameKey string
}

func rolesOf(m *meta.Model) (roles, error) {
	member, ok := m.Type("Member")
	if !ok {
		return roles{}, fmt.Errorf("the model has no type Member")
	}
	role, ok := m.Type("Role")
	if !ok {
		return roles{}, fmt.Errorf("the model has no type Role")
	}
	def, ok := member.Attr("DefaultRole")
	if !ok || def.Place.Kind != meta.InLinks {
		return roles{}, fmt.Errorf("the model does not keep Member.DefaultRole as a link")
	}
	disabled, ok := member.Attr("IsLoginDisabled")
	if !ok || disabled.Place.Kind != meta.InAttrs {
		return roles{}, fmt.Errorf("the model does not keep Member.IsLoginDisabled among the attrs")
	}
	username, ok := member.Attr("Username")
	if !ok || username.Place.Kind != meta.InAttrs {
		return roles{}, fmt.Errorf("the model does not keep Member.Username among the attrs")
	}
	return roles{
		disabledKey: disabled.Place.Column,
		usernameKey: username.Place.Column,
		member:      member,
		relation:    def.Place.Code,
		role:        role,
		order:       m.Rights,
	}, nil
}

// RolesWithoutRead returns the stored ids of the roles that read nothing of a
// project.
func RolesWithoutRead(role *meta.Type) []int64 {
	return []int64{role.Stored(int64(meta.NoAccess)), role.Stored(int64(meta.Inheritor))}
}

// rights is what the database has about a member.
type rights struct {
	exists      bool // and is not deleted
	defaultRole int64
	hasDefault  bool
	grants      []grant
}

// grant is one role that applies to a scope: held there (depth 0) or above it.
type grant struct {
	scope int64 // where it applies
	depth int   // levels below where it is held
	held  int64 // the scope it is held in
	role  int64
}

// actor returns the actor of a member. In each scope the nearest role decides: No
// Access on a project hides it from a member who reads its parent.
func (r roles) actor(member int64, has rights) Actor {
	a := Actor{Member: member}
	if has.hasDefault {
		a.hold(r.numbered(has.defaultRole))
	}
	nearest := make(map[int64]grant, len(has.grants))
	for _, g := range has.grants {
		if g.held == rootScope {
			a.hold(r.numbered(g.role))
		}
		if n, ok := nearest[g.scope]; !ok || g.depth < n.depth {
			nearest[g.scope] = g
		}
	}
	if a.Admin = a.System == meta.SystemAdmin; a.Admin {
		a.All = true
		return a
	}
	a.Scopes = make([]int64, 0, len(nearest))
	for scope, g := range nearest {
		if r.numbered(g.role).Reads() {
			a.Scopes = append(a.Scopes, scope)
		}
	}
	slices.Sort(a.Scopes)
	a.Roles = make([]meta.Role, len(a.Scopes))
	for i, scope := range a.Scopes {
		a.Roles[i] = r.numbered(nearest[scope].role)
		a.Held |= meta.RolesOf(a.Roles[i])
	}
	return a
}

func (r roles) numbered(stored int64) meta.Role { return meta.RoleNumbered(r.role.Shown(stored)) }

// hold gives the actor a role of the whole system, if it is one: System Admin goes
// before Member Admin.
func (a *Actor) hold(role meta.Role) {
	if role == meta.SystemAdmin || role == meta.MemberAdmin && a.System == meta.NoAccess {
		a.System = role
		a.Held |= meta.RolesOf(role)
	}
}
