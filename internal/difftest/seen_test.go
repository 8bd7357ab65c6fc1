package difftest

import (
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// Roles that read nothing, by the number in their Oid.
const noAccess, inheritor = 0, 10

// seeMembers are the roles in any project that see all members.
var seeMembers = meta.RolesOf(meta.SystemAdmin, meta.ProjectAdmin)

// sharing are the projects whose members the actor sees: those it reads and all
// above them.
func (e *evaluator) sharing() map[int64]bool {
	if e.shared != nil {
		return e.shared
	}
	e.shared = map[int64]bool{}
	now := e.w.at(current)
	for _, id := range e.who.Scopes {
		for x := now.get(id); !x.none() && !e.shared[x.id]; {
			e.shared[x.id] = true
			up, _ := x.typ.Attr("Parent")
			x = now.get(x.columns[up.Place.Slot])
		}
	}
	return e.shared
}

// seesMember reports whether the actor sees a member: itself, and whoever has a role
// now, at or above a project that the actor reads.
func (e *evaluator) seesMember(n node) bool {
	if e.who.Held&seeMembers != 0 || e.who.System == meta.MemberAdmin || n.id == e.who.Member {
		return true
	}
	role, _ := e.w.m.Type("Role")
	return slices.ContainsFunc(e.w.held, func(h held) bool {
		reads := h.role != role.Stored(noAccess) && h.role != role.Stored(inheritor)
		return reads && h.member == n.id && e.sharing()[h.scope]
	})
}

// members are the members that the actor sees.
func (e *evaluator) members() []int64 {
	all := []int64{e.who.Member}
	for _, n := range e.w.at(current).nodes() {
		if n.typ.Name == "Member" && n.id != e.who.Member && e.seesMember(n) {
			all = append(all, n.id)
		}
	}
	slices.Sort(all)
	return all
}
