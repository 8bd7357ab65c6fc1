package auth

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// SystemMember is the member on whose behalf the server itself acts.
const SystemMember int64 = 20

// Actor is the one on whose behalf a request reads and writes: a member and
// what that member may see. It is a plain value, resolved once per request.
type Actor struct {
	// Member is the stored id of the member.
	Member int64
	// Admin says the member administers the whole system.
	Admin bool
	// All says the member reads every scope; Scopes is nil then.
	All bool
	// Scopes holds the stored ids of the readable scopes, ascending, those
	// reached by inheritance down the scope tree included.
	Scopes []int64
	// Roles has the role that decides in each of Scopes.
	Roles []meta.Role
	// System is the role that the member has in the whole system: System Admin,
	// Member Admin, or No Access for none.
	System meta.Role
	// Held is the roles that the member has anywhere.
	Held meta.RoleSet
	// Members holds the stored ids of the members it sees, ascending. Nil: all, or
	// too many to know here, and the caller reads who they are.
	Members []int64
	// At is the moment of these rights; 0: now.
	At int64
	// Hidden is the projects that are hidden from everybody. Nil: not known, the
	// caller reads them.
	Hidden *Hidden
}

// Hidden is the projects that are deleted or below a deleted one, and so are hidden
// with everything in them.
type Hidden struct {
	Now  []int64 // stored ids of those that are
	Ever bool    // there are or were some
}

// System is the actor for the server's own work: it sees everything.
var System = Actor{Member: SystemMember, Admin: true, All: true, System: meta.SystemAdmin, Held: meta.RolesOf(meta.SystemAdmin)}

// Reads reports whether the actor reads what lies in a scope, by stored id.
func (a Actor) Reads(scope int64) bool {
	_, ok := slices.BinarySearch(a.Scopes, scope)
	return ok || a.All
}

// RoleIn returns the role that decides in a scope, by stored id: No Access where
// the actor reads nothing.
func (a Actor) RoleIn(scope int64) meta.Role {
	if a.Admin {
		return meta.SystemAdmin
	}
	if i, ok := slices.BinarySearch(a.Scopes, scope); ok {
		return a.Roles[i]
	}
	return meta.NoAccess
}

// Creating returns the actor with the role of their creator in new scopes, by stored
// id, ascending.
func (a Actor) Creating(scopes []int64) Actor {
	if len(scopes) == 0 {
		return a
	}
	had := a
	a.Scopes = slices.Compact(slices.Sorted(slices.Values(slices.Concat(had.Scopes, scopes))))
	a.Roles = make([]meta.Role, len(a.Scopes))
	for i, id := range a.Scopes {
		a.Roles[i] = had.RoleIn(id)
		if _, made := slices.BinarySearch(scopes, id); made {
			a.Roles[i] = meta.SystemAdmin
		}
	}
	return a
}

// AllMembers reports whether the actor sees every member, as those do who administer
// the system, its members or a project: they have to name whom they give a role.
func (a Actor) AllMembers() bool {
	return a.All || a.System == meta.MemberAdmin || a.Held.Has(meta.ProjectAdmin) || a.Held.Has(meta.SystemAdmin)
}

// SeesMember reports whether the actor sees a member, by stored id; known is false
// where only the database knows.
func (a Actor) SeesMember(id int64) (sees, known bool) {
	if a.AllMembers() || a.Member == id {
		return true, true
	}
	_, sees = slices.BinarySearch(a.Members, id)
	return sees, a.Members != nil
}

// Administers returns the stored ids of the scopes that the actor administers,
// ascending. It does not say so of one who administers the whole system.
func (a Actor) Administers() []int64 {
	var scopes []int64
	for i, role := range a.Roles {
		if role == meta.SystemAdmin || role == meta.ProjectAdmin {
			scopes = append(scopes, a.Scopes[i])
		}
	}
	return scopes
}
