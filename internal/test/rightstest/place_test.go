package rightstest

import "slices"

// project is a project of the test. The assets of cells are in the project target, or in the project inner
// below it, in which no member has a role.
type project struct {
	name string
	up   *project
}

var (
	root      = &project{name: "root"}
	above     = &project{"above", root}
	target    = &project{"target", above}
	below     = &project{"below", target}
	inner     = &project{"inner", target}
	elsewhere = &project{"elsewhere", root}

	projects = []*project{above, target, below, elsewhere}
)

// places are the projects in which a member can have its role. In the place without a project, the role is
// only the DefaultRole of the member.
var places = []struct {
	name string
	at   *project
}{
	{"own project", target},
	{"below", below},
	{"above", above},
	{"elsewhere", elsewhere},
	{"whole system", root},
	{"none", nil},
}

// member is a member that has cells.
type member struct {
	role, place string
	at          *project // project in which it has the role; nil: it has only a DefaultRole
	login, oid  string
}

func (w *member) String() string { return w.role + ", " + w.place }

// roleIn returns the role of the member that applies in a project, or "" if none applies.
func (w *member) roleIn(p *project) string {
	for ; p != nil; p = p.up {
		if p == w.at {
			return w.role
		}
	}
	return ""
}

// system returns the role of the member for the whole system, or "" if it has none.
func (w *member) system() string {
	if (w.at == nil || w.at == root) && (w.role == systemAdmin || w.role == memberAdmin) {
		return w.role
	}
	return ""
}

func reads(role string) bool { return role != "" && role != "No Access" && role != "Inheritor" }

// held returns the roles that the member has in any place.
func (w *member) held() []string {
	if w.system() != "" || w.at != nil && reads(w.role) {
		return []string{w.role}
	}
	return nil
}

func (w *member) reads(p *project) bool { return w.system() == systemAdmin || reads(w.roleIn(p)) }

// sees reports whether the member may see a thing.
func (w *member) sees(x thing) bool {
	switch {
	case w.system() == systemAdmin:
		return true
	case x.typ == "Member":
		return w.seesMember(x)
	case x.typ == "MessageReceipt":
		return x.own == w
	case x.own == w && slices.Contains(shownToOwner, x.typ):
		return true
	case x.on != nil:
		return w.sees(*x.on)
	}
	return len(x.in) == 0 || !seenInProject(x.typ) || slices.ContainsFunc(x.in, w.reads)
}

// seesMember reports whether the member w sees the member x. Every member sees itself and the members of
// the projects that it may read. Administrators see all members. Each member that is a thing has a role in
// target.
func (w *member) seesMember(x thing) bool {
	if x.is == w || w.role == memberAdmin && w.system() != "" {
		return true
	}
	if w.at != nil && (w.role == systemAdmin || w.role == "Project Admin") {
		return true
	}
	return w.reads(target) || w.reads(below)
}

// shownToOwner are types whose assets are always visible to their author or creator.
var shownToOwner = []string{"Expression", "Conversation", "Message"}

// unsecured are types whose assets belong to projects but are visible to everybody.
var unsecured = []string{"Schedule", "Timebox"}

func seenInProject(typ string) bool { return !slices.Contains(unsecured, typ) }
