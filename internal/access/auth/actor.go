package auth

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// SystemMember is the stored id of the member that the server itself acts as.
const SystemMember int64 = 20

// Actor is a member with its rights. A request reads and writes with the rights of its actor.
// An Actor is a plain value, which is read once per request.
type Actor struct {
	// Member is the stored id of the member.
	Member int64
	// Token is the id of the access token with which the member has logged in. It is empty for
	// other logins and for sessions.
	Token string
	// Application is the name of that access token.
	Application string
	// Admin is true if the member administers the whole system.
	Admin bool
	// All is true if the member reads all scopes. Scopes is nil then.
	All bool
	// Scopes has the stored ids of the readable scopes, ascending. It includes scopes that are
	// readable by a role in a scope above.
	Scopes []int64
	// Roles has the role that applies in each of Scopes, in the same order.
	Roles []meta.Role
	// System is the role that the member has in the whole system: System Admin,
	// Member Admin, or No Access for none.
	System meta.Role
	// Held has the role in System, and all roles in Roles.
	Held meta.RoleSet
	// Members has the stored ids of the members that the actor sees, ascending. nil: the actor
	// sees all members (see AllMembers), or queries read the members from the database.
	Members []int64
	// At is the moment of these rights; 0: now.
	At int64
	// Bounds are the limits of the access token; nil: none. The other fields have only the rights
	// that the bounds leave.
	Bounds *Bounds
	// AllWithin is true if the member reads all scopes, and only Bounds limit Scopes. The member
	// then has the role System Admin in each of Scopes.
	AllWithin bool
	// Hidden has the projects that are hidden from everybody. nil: unknown; queries read them
	// from the database.
	Hidden *Hidden
}

// Hidden has the projects that are deleted or below a deleted project. They are hidden with
// everything in them.
type Hidden struct {
	Now  []int64 // stored ids of the projects that are hidden now
	Ever bool    // true: a project is hidden now, or was hidden in the past
}

// System is the actor of the server itself. It sees everything.
var System = Actor{
	Member: SystemMember, Admin: true, All: true, System: meta.SystemAdmin, Held: meta.RolesOf(meta.SystemAdmin),
}

// Reads reports whether the actor may read the assets in a scope. scope is a stored id.
func (a Actor) Reads(scope int64) bool {
	_, ok := slices.BinarySearch(a.Scopes, scope)
	return ok || a.All
}

// RoleIn returns the role that applies in a scope, or No Access if the actor may not read the
// scope. scope is a stored id.
func (a Actor) RoleIn(scope int64) meta.Role {
	if a.Admin {
		return meta.SystemAdmin
	}
	if i, ok := slices.BinarySearch(a.Scopes, scope); ok {
		return a.Roles[i]
	}
	return meta.NoAccess
}

// Creating returns the actor with the role System Admin in the scopes that its request has
// created. scopes has the stored ids of these scopes, ascending.
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

// AllMembers reports whether the actor sees all members. Administrators of the system, of
// members, or of a project see all members, because they assign roles to members. With a token that
// reads only some projects or types, nobody does.
func (a Actor) AllMembers() bool {
	if a.Bounds.LimitsReading() {
		return false
	}
	return a.All || a.System == meta.MemberAdmin || a.Held.Has(meta.ProjectAdmin) || a.Held.Has(meta.SystemAdmin)
}

// SeesMember reports whether the actor sees a member. id is a stored id. If known is false, the
// database must be queried.
func (a Actor) SeesMember(id int64) (sees, known bool) {
	if a.AllMembers() || a.Member == id {
		return true, true
	}
	_, sees = slices.BinarySearch(a.Members, id)
	return sees, a.Members != nil
}

// Administers returns the stored ids of the scopes that the actor administers, ascending. It
// returns nil for an administrator of the whole system.
func (a Actor) Administers() []int64 {
	var scopes []int64
	for i, role := range a.Roles {
		if role == meta.SystemAdmin || role == meta.ProjectAdmin {
			scopes = append(scopes, a.Scopes[i])
		}
	}
	return scopes
}
