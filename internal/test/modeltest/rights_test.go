package modeltest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// rights is what a member may see and do during a request. It is computed at the beginning of the request.
// Later it changes only for projects that the request creates.
type rights struct {
	member   string
	system   meta.Role            // role for the whole system; No Access: none
	in       map[string]meta.Role // by label of a project: role that applies there
	anywhere meta.RoleSet         // the roles of system and in together
}

// roleOf returns the role with a label. The label may end with *, which marks an owner.
func roleOf(label string) meta.Role {
	_, digits, _ := strings.Cut(strings.TrimSuffix(label, "*"), ":")
	n, _ := strconv.ParseInt(digits, 10, 64)
	return meta.RoleNumbered(n)
}

// rightsOf returns the current rights of a member. In a project, the role from the nearest project applies:
// from the project itself, or from the first project above it where the member has a role.
func (w *world) rightsOf(me string) *rights {
	r := &rights{member: me, in: map[string]meta.Role{}}
	for _, role := range []string{w.things[me].one["DefaultRole"], w.roles[[2]string{"Scope:0", me}]} {
		if role == "" {
			continue
		}
		if now := roleOf(role); now == meta.SystemAdmin || now == meta.MemberAdmin && r.system == meta.NoAccess {
			r.system = now
		}
	}
	if r.system != meta.NoAccess {
		r.anywhere = meta.RolesOf(r.system)
	}
	for _, scope := range w.sorted("Scope") {
		for at := scope; at != nil; at = w.things[at.one["Parent"]] {
			if held, ok := w.roles[[2]string{at.label, me}]; ok {
				r.in[scope.label] = roleOf(held)
				r.anywhere |= meta.RolesOf(roleOf(held))
				break
			}
		}
	}
	return r
}

// admin reports whether the member has all rights.
func (r *rights) admin() bool { return r.system == meta.SystemAdmin }

// administered reports whether at least one member who has all rights can log in.
func (w *world) administered() bool {
	return slices.ContainsFunc(w.sorted("Member"), func(m *thing) bool { return m.state < 128 && w.rightsOf(m.label).admin() })
}

// visible reports whether the member sees an asset.
func (r *rights) visible(w *world, t *thing) bool {
	at := t.one["Scope"]
	switch {
	case r.admin():
		return true
	case t.typ == "Member":
		return r.meets(w, t)
	case t.one["PersonalTo"] != "":
		return t.one["PersonalTo"] == r.member
	case t.typ == "Note" && t.one["SecurityScope"] == "":
		return r.visible(w, w.things[t.one["Asset"]])
	case t.typ == "Note":
		at = t.one["SecurityScope"]
	case t.typ == "Scope":
		at = t.label
	}
	return at == "" || r.in[at].Reads()
}

// meets reports whether the member sees the member t. Members who administer the system, the members or any
// project see all members.
func (r *rights) meets(w *world, t *thing) bool {
	if t.label == r.member || r.system != meta.NoAccess || r.anywhere&meta.RolesOf(meta.SystemAdmin, meta.ProjectAdmin) != 0 {
		return true
	}
	for scope, role := range r.in {
		for at := w.things[scope]; at != nil && role.Reads(); at = w.things[at.one["Parent"]] {
			if held, ok := w.roles[[2]string{at.label, t.label}]; ok && roleOf(held).Reads() {
				return true
			}
		}
	}
	return false
}

// higher reports whether the role a is higher than the role b. A role that is not in the order of roles is
// lower than all others.
func higher(a, b meta.Role) bool {
	order := model.Rights.Order
	i, j := slices.Index(order, a), slices.Index(order, b)
	return i >= 0 && (j < 0 || i < j)
}

// lies returns the projects that an asset belongs to. For the verb ToCreate, a project belongs to its
// parent.
func (w *world) lies(t *thing, verb meta.Verb) []string {
	switch {
	case t.typ == "Scope" && verb != meta.ToCreate:
		return []string{t.label}
	case t.typ == "Schedule":
		var all []string
		for _, scope := range w.sorted("Scope") {
			if scope.one["Schedule"] == t.label {
				all = append(all, scope.label)
			}
		}
		return all
	case t.typ == "Timebox":
		return w.lies(w.things[t.one["Schedule"]], verb)
	}
	at := t.one[map[string]string{"Scope": "Parent", "Note": "SecurityScope"}[t.typ]]
	if at == "" {
		at = t.one["Scope"]
	}
	if at == "" {
		return nil
	}
	return []string{at}
}

// may reports whether the member has a right on an asset, as the asset is in the world w.
func (r *rights) may(w *world, t *thing, verb meta.Verb, name string) bool {
	typ, _ := model.Type(t.typ)
	kind := typ.KindOf(name)
	set := kind.Roles(verb, name)
	if kind.System {
		return r.maySystem(w, t, verb, name, set)
	}
	in := func(set meta.RoleSet) bool {
		return slices.ContainsFunc(w.lies(t, verb), func(scope string) bool { return set.Has(r.in[scope]) })
	}
	maker := t.one["CreatedBy"]
	if maker == "" {
		maker = "Member:20"
	}
	switch {
	case len(w.lies(t, verb)) > 0:
		if !in(set) {
			return false
		}
	case !kind.Own && maker != r.member, r.anywhere&set == 0:
		return false
	}
	moderators := kind.Roles(meta.ToModerate, "")
	return !kind.Own || t.one["Author"] == r.member || in(moderators) || moderators.Has(r.system)
}

// maySystem is like may, for members as assets. They do not belong to a project.
func (r *rights) maySystem(w *world, t *thing, verb meta.Verb, name string, set meta.RoleSet) bool {
	switch {
	case verb == meta.ToRelate:
		return r.anywhere&set != 0
	case t.label == r.member && verb == meta.ToChange && slices.Contains(model.Rights.Self, name):
		return true
	case !set.Has(r.system) || higher(roleOf(t.one["DefaultRole"]), r.system):
		return false
	}
	for key, role := range w.roles {
		if key[1] == t.label && higher(roleOf(role), r.system) {
			return false
		}
	}
	return true
}

// appointment is a role in a project that a command has given or removed.
type appointment struct{ scope, role string }

// denied has the messages with which a command may be refused, one for each reason. The documents do not
// say which of the reasons the message names.
type denied []string

func (d denied) Error() string { return strings.Join(d, " or ") }

// gate collects the reasons to refuse a command. The model has already executed the command, but can still
// undo it.
type gate struct {
	*change
	*rights
	against denied
}

// check returns the reasons why the sender may not execute a step, or nil if the sender may.
func (k *work) check(c *change, s *step) error {
	g := &gate{change: c, rights: k.rights}
	switch {
	case g.admin():
		return nil
	case s.cmd != nil && s.cmd.op != "":
		g.operated(s.cmd.op)
	case s.create != nil:
		g.created(s.create.attrs)
		g.held()
	default:
		g.updated(s.args)
		g.held()
	}
	g.appointed(s)
	g.raised()
	if g.against != nil {
		return g.against
	}
	return nil
}

// demand adds reasons unless the sender has a right on the asset, both as it was before the command and as
// it is now. To move a project, the sender also needs the right to create projects in the old parent and in
// the new parent.
func (g *gate) demand(t *thing, verb meta.Verb, name string, reasons ...string) {
	old := g.before.things[t.label]
	ok := g.may(g.world, t, verb, name) && (old == nil || g.may(g.before, old, verb, name))
	if t.typ == "Scope" && verb == meta.ToChange && old != nil && old.one["Parent"] != t.one["Parent"] {
		set := model.Rights.Kind("projects").Roles(meta.ToCreate, "")
		ok = ok && set.Has(g.in[old.one["Parent"]]) && set.Has(g.in[t.one["Parent"]])
	}
	for _, reason := range reasons {
		if !ok {
			g.against = append(g.against, "Denied'"+t.typ+"."+reason)
		}
	}
}

func (g *gate) operated(op string) {
	switch op {
	case "Delete", "Undelete":
		g.demand(g.me, meta.ToDelete, "", "Delete")
	case "AssignToScopeWithRole": // needs only a right in the project; see appointed
	default:
		g.demand(g.me, meta.ToOperate, op, op)
	}
	for label, t := range g.things { // a copy; tasks that are copied with their story need no right of their own
		if g.before.things[label] == nil && (t.typ != "Task" || g.me.typ == "Task") {
			g.demand(t, meta.ToCreate, "", "Create")
		}
	}
}

// ownSide reports whether an attribute is stored at assets of the type, and not at the other end of the
// relation.
func ownSide(typ, name string) bool {
	a, known := attrOf(typ, name)
	return !known || a.kind != "<" && a.kind != "<<"
}

func (g *gate) created(attrs obj) {
	g.demand(g.me, meta.ToCreate, "", "Create")
	typ, _ := model.Type(g.me.typ)
	for _, p := range attrs {
		if ownSide(typ.Name, p.key) && !typ.Rights.Kind.System && typ.RightDiffers(p.key) {
			g.demand(g.me, meta.ToChange, p.key, p.key)
		}
	}
}

func (g *gate) updated(args obj) {
	relates := true
	typ, _ := model.Type(g.me.typ)
	for _, p := range args {
		if !ownSide(typ.Name, p.key) {
			continue
		}
		relates = false
		if typ.RightDiffers(p.key) {
			g.demand(g.me, meta.ToChange, p.key, p.key)
		} else {
			g.demand(g.me, meta.ToChange, "", "Change")
		}
	}
	if relates {
		g.demand(g.me, meta.ToRelate, "", "Relate")
	}
}

// held checks the relations that the command writes from the end that does not store them. The sender must
// have the right to change the assets that store them. To set another schedule for a project, the sender
// must also have the right to relate this schedule.
func (g *gate) held() {
	for label, name := range g.holders {
		g.demandOf(label, name)
	}
	for _, side := range [][2]*world{{g.before, g.world}, {g.world, g.before}} {
		for l := range side[0].links {
			if !side[1].links[l] && (l.from != g.me.label || l.to == l.from) && l.attr != "Members" {
				g.demandOf(l.from, l.attr)
			}
		}
	}
	now, was := g.me.one["Schedule"], ""
	if old := g.before.things[g.me.label]; old != nil {
		was = old.one["Schedule"]
	}
	if g.me.typ != "Scope" || now == "" || now == was {
		return
	}
	if schedule := g.before.things[now]; schedule != nil && !g.may(g.before, schedule, meta.ToRelate, "") {
		g.against = append(g.against, "Denied'Schedule.Relate")
	}
}

func (g *gate) demandOf(holder, name string) {
	g.demand(g.things[holder], meta.ToChange, name, "Change", name)
}

// appointed checks that the sender may give and remove the roles that the command gives and removes. When a
// role is removed, a role from a project above may apply instead. Then the sender must also have the right
// to give that role.
func (g *gate) appointed(s *step) {
	reason := "Denied'Scope.Members"
	if s.cmd != nil && s.cmd.op != "" {
		reason = "Denied'" + g.me.typ + "." + s.cmd.op
	}
	manage := model.Rights.Kind("project members").Roles(meta.ToChange, "Members")
	for _, a := range g.appointments {
		own := g.in[a.scope]
		if !manage.Has(own) || higher(roleOf(a.role), own) {
			g.against = append(g.against, reason)
		}
	}
	for key, role := range g.before.roles {
		scope, member := key[0], key[1]
		if _, kept := g.roles[key]; kept || g.before.things[scope] == nil {
			continue
		}
		above := g.before.nearest(g.before.things[scope].one["Parent"], member)
		if rises(roleOf(role), above) && !g.mayGive(scope, above) && !g.before.rightsOf(member).admin() {
			g.against = append(g.against, reason)
		}
	}
}

// nearest returns the role of a member that applies in a project.
func (w *world) nearest(scope, member string) meta.Role {
	for at := w.things[scope]; at != nil; at = w.things[at.one["Parent"]] {
		if held, ok := w.roles[[2]string{at.label, member}]; ok {
			return roleOf(held)
		}
	}
	return meta.NoAccess
}

// rises reports whether the new role, the parameter now, lets a member do more than the old role, the
// parameter was.
func rises(was, now meta.Role) bool { return higher(now, was) || now.Reads() && !was.Reads() }

// mayGive reports whether the sender has the right to give a role in a project.
func (g *gate) mayGive(scope string, role meta.Role) bool {
	own := g.in[scope]
	return model.Rights.Kind("project members").Roles(meta.ToChange, "Members").Has(own) && !higher(role, own)
}

// mayRaise reports whether the sender may give a role in a moved project, both with the role at the
// beginning of the request and with the role before this command.
func (g *gate) mayRaise(scope string, role meta.Role) bool {
	own := g.before.nearest(scope, g.member)
	return g.mayGive(scope, role) && manages(own) && !higher(role, own)
}

// manages reports whether a member with a role in a project may give roles there.
func manages(role meta.Role) bool {
	return model.Rights.Kind("project members").Roles(meta.ToChange, "Members").Has(role)
}

// giving returns the highest role, in a project or above it, with which a member may give roles.
func (w *world) giving(scope, member string) (highest meta.Role) {
	for at := w.things[scope]; at != nil; at = w.things[at.one["Parent"]] {
		held, ok := w.roles[[2]string{at.label, member}]
		if ok && manages(roleOf(held)) && higher(roleOf(held), highest) {
			highest = roleOf(held)
		}
	}
	return highest
}

// raised checks the moves of projects. If a move gets a member a higher role, or lets a member give higher
// roles in a project above, the sender must have the right to give that role.
func (g *gate) raised() {
	for _, scope := range g.sorted("Scope") {
		old := g.before.things[scope.label]
		if old == nil || old.one["Parent"] == scope.one["Parent"] {
			continue
		}
		for _, m := range g.sorted("Member") {
			_, own := g.roles[[2]string{scope.label, m.label}]
			was, now := g.before.nearest(scope.label, m.label), g.nearest(scope.label, m.label)
			if !own && rises(was, now) && !g.mayRaise(scope.label, now) && !g.before.rightsOf(m.label).admin() {
				g.against = append(g.against, "Denied'Scope.Parent")
			}
			was, now = g.before.giving(scope.label, m.label), g.giving(scope.one["Parent"], m.label)
			if used := g.in[scope.one["Parent"]]; m.label == g.member && manages(used) && higher(used, now) {
				now = used
			}
			if higher(now, was) && !g.mayRaise(scope.label, now) && !g.before.rightsOf(m.label).admin() {
				g.against = append(g.against, "Denied'Scope.Parent")
			}
		}
	}
}
