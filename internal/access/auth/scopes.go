package auth

import (
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

const rootScope = 0

// roles has the parts of the model that are needed to read rights.
type roles struct {
	member   *meta.Type
	relation int // link code of Member.DefaultRole
	role     *meta.Type
	scope    *meta.Type
	order    *meta.Rights // which role is above which

	limitable map[string]bool // see limitable

	disabledKey string // key of Member.IsLoginDisabled in asset.attrs
	usernameKey string // key of Member.Username in asset.attrs
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
	scope, ok := m.Type("Scope")
	if !ok {
		return roles{}, fmt.Errorf("the model has no type Scope")
	}
	def, ok := member.Attr("DefaultRole")
	if !ok || def.Place.Kind != meta.InLinks {
		return roles{}, fmt.Errorf("the model does not store Member.DefaultRole as a link")
	}
	disabled, ok := member.Attr("IsLoginDisabled")
	if !ok || disabled.Place.Kind != meta.InAttrs {
		return roles{}, fmt.Errorf("the model does not store Member.IsLoginDisabled in the column attrs")
	}
	username, ok := member.Attr("Username")
	if !ok || username.Place.Kind != meta.InAttrs {
		return roles{}, fmt.Errorf("the model does not store Member.Username in the column attrs")
	}
	return roles{
		disabledKey: disabled.Place.Column,
		usernameKey: username.Place.Column,
		member:      member,
		relation:    def.Place.Code,
		role:        role,
		scope:       scope,
		limitable:   limitable(m),
		order:       m.Rights,
	}, nil
}

// RolesWithoutRead returns the stored ids of the roles with which a member cannot read a
// project. role is the type Role.
func RolesWithoutRead(role *meta.Type) []int64 {
	return []int64{role.Stored(int64(meta.NoAccess)), role.Stored(int64(meta.Inheritor))}
}

// rights has the rights of a member as the database stores them.
type rights struct {
	exists      bool // the member exists and is not deleted
	defaultRole int64
	hasDefault  bool
	grants      []grant
}

// grant is a role of a member that applies in a scope. The member has the role in that scope or
// in a scope above.
type grant struct {
	scope int64 // where the role applies
	depth int   // number of levels between the field held and the field scope below it; 0: the same scope
	held  int64 // the scope in which the member has the role
	role  int64
}

// actor returns the actor of a member. In each scope the nearest role applies. For example, the
// role No Access in a project hides the project from a member who reads the parent project.
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

// hold sets the role of the actor in the whole system, if role is System Admin or Member Admin.
// System Admin replaces Member Admin.
func (a *Actor) hold(role meta.Role) {
	if role == meta.SystemAdmin || role == meta.MemberAdmin && a.System == meta.NoAccess {
		a.System = role
		a.Held |= meta.RolesOf(role)
	}
}
