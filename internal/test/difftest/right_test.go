package difftest

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// mayChange reports whether the member may change at least some attribute of an asset.
func (e *evaluator) mayChange(n node) bool {
	return n.typ.Name == "Member" && n.id == e.who.Member || e.may(n, meta.ToChange, "")
}

// mayOperate reports whether the member has the right to run an operation on an asset. If the operation
// creates an asset, the member must also have the right to create that asset.
func (e *evaluator) mayOperate(n node, name string) bool {
	if name == "Delete" || name == "Undelete" {
		return e.may(n, meta.ToDelete, name)
	}
	if !e.may(n, meta.ToOperate, name) {
		return false
	}
	op, _ := n.typ.Op(name)
	made, ok := e.w.m.Type(op.Effect.Result)
	if !ok {
		return true
	}
	create := made.Rights.Kind.Roles(meta.ToCreate, "")
	if made.Rights.Kind.System {
		return e.who.Admin || create.Has(e.who.System)
	}
	return e.who.Admin || e.roleAmong(n.projects(), create)
}

// may reports whether the member has a right on an asset, by the rules of rights.yaml.
func (e *evaluator) may(n node, verb meta.Verb, name string) bool {
	k := n.typ.KindOf(name)
	switch {
	case e.who.Admin:
		return true
	case n.typ.Rights.On != nil:
		if on := n.related(n.typ.Rights.On); len(on) > 0 {
			return e.mayChange(on[0])
		}
		return n.createdBy == e.who.Member && e.who.Held&k.Roles(meta.ToChange, "") != 0
	case k.System:
		return k.Roles(verb, name).Has(e.who.System) && (n.typ.Name != "Member" || !e.stands(n))
	}
	set, projects := k.Roles(verb, name), n.projects()
	switch {
	case len(projects) > 0:
		if !e.roleAmong(projects, set) {
			return false
		}
	case !k.Own && n.createdBy != e.who.Member, e.who.Held&set == 0:
		return false
	}
	return !k.Own || e.owns(n) || e.roleAmong(projects, k.Roles(meta.ToModerate, ""))
}

// stands reports whether the member n currently has a role that is higher than Member Admin.
func (e *evaluator) stands(n node) bool {
	held := e.w.grants[n.id]
	role, _ := e.w.m.Type("Role")
	a, _ := n.typ.Attr("DefaultRole")
	for _, p := range e.w.links {
		if p.code == a.Place.Code && p.from == n.id && p.holds(current) {
			held = append(slices.Clone(held), meta.RoleNumbered(role.Shown(p.to)))
		}
	}
	return slices.Contains(held, meta.SystemAdmin) || slices.Contains(held, meta.ProjectAdmin)
}

// projects returns the projects that an asset belongs to.
func (n node) projects() []int64 {
	var all []int64
	if lies := n.typ.Rights.Lies; lies != nil {
		for _, to := range n.related(lies) {
			all = append(all, to.projects()...)
		}
		return all
	}
	if id, ok := n.ref("scope_id").(int64); ok {
		all = append(all, id)
	}
	return all
}

// roleAmong reports whether the member has one of the roles in set in one of the projects.
func (e *evaluator) roleAmong(projects []int64, set meta.RoleSet) bool {
	return slices.ContainsFunc(projects, func(id int64) bool { return set.Has(e.who.RoleIn(id)) })
}

// owns reports whether an asset belongs to the member: the member is its author, or for some types its
// creator.
func (e *evaluator) owns(n node) bool {
	own := n.typ.Rights.Own
	if own == nil {
		return n.createdBy == e.who.Member
	}
	return slices.ContainsFunc(n.related(own), func(m node) bool { return m.id == e.who.Member })
}
