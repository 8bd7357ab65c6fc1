package difftest

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// noAccess and inheritor are the numbers, as in an Oid, of the roles that may not read anything.
const noAccess, inheritor = 0, 10

// seeMembers are the roles that see all members if the actor has the role in any project.
var seeMembers = meta.RolesOf(meta.SystemAdmin, meta.ProjectAdmin)

// sharing returns the projects whose members the actor sees: the projects that the actor reads, and all
// projects above them.
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

// seesMember reports whether the actor sees a member. The actor sees itself, and members who currently have
// a role that may read, in a project that sharing returns. Actors with certain roles see all members.
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

// members returns the sorted ids of the members that the actor sees.
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

// sees reports whether the actor may see an asset.
func (e *evaluator) sees(n node) bool { return e.who.All || e.seesFrom(n, "") }

// seesFrom is like sees, for an asset n that was reached through the visibility rule of another asset,
// whose type is from. If n has the same type, n does not make the other asset visible.
func (e *evaluator) seesFrom(n node, from string) bool {
	rule := &n.typ.Seen
	if rule.Shared {
		return e.seesMember(n)
	}
	if n.typ.Name == from {
		return false
	}
	if only := leads(n, rule.Only); len(only) > 0 {
		return e.isAmong(only)
	}
	if e.isAmong(leads(n, rule.By)) {
		return true
	}
	slot := slices.IndexFunc(e.w.m.Columns, func(c meta.Column) bool { return c.Name == "scope_id" })
	if scope, ok := n.columns[slot].(int64); ok && n.typ.Secured != (meta.Secured{}) {
		return slices.Contains(e.who.Scopes, scope)
	}
	for i := range rule.Through {
		if found := leads(n, rule.Through[i:i+1]); len(found) > 0 {
			return slices.ContainsFunc(found, func(x node) bool { return e.seesFrom(x, n.typ.Name) })
		}
	}
	return true
}

func (e *evaluator) isAmong(members []node) bool {
	return slices.ContainsFunc(members, func(m node) bool { return m.id == e.who.Member })
}

// leads returns the assets at the end of paths from n. They need not be visible to the actor.
func leads(n node, paths []meta.Walk) []node {
	var all []node
	for _, w := range paths {
		at := []node{n}
		for _, a := range w {
			var next []node
			for _, x := range at {
				if own, ok := x.typ.Attr(a.Name); ok {
					next = append(next, x.related(own)...)
				}
			}
			at = next
		}
		all = append(all, at...)
	}
	return all
}
