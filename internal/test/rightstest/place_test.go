package rightstest

import "slices"

// project is one of the tree. The assets that cells are about lie in the target,
// or in a project below it in which nobody holds a role.
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

// places are where a member holds its role; in none of them it is its DefaultRole
// alone.
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

// member is one of the matrix.
type member struct {
	role, place string
	at          *project // nil: a DefaultRole alone
	login, oid  string
}

func (w *member) String() string { return w.role + ", " + w.place }

// roleIn is the role that decides in a project; "" where there is none.
func (w *member) roleIn(p *project) string {
	for ; p != nil; p = p.up {
		if p == w.at {
			return w.role
		}
	}
	return ""
}

// system is the role in the whole system.
func (w *member) system() string {
	if (w.at == nil || w.at == root) && (w.role == systemAdmin || w.role == memberAdmin) {
		return w.role
	}
	return ""
}

func reads(role string) bool { return role != "" && role != "No Access" && role != "Inheritor" }

// held are the roles that the member has anywhere.
func (w *member) held() []string {
	if w.system() != "" || w.at != nil && reads(w.role) {
		return []string{w.role}
	}
	return nil
}

func (w *member) reads(p *project) bool { return w.system() == systemAdmin || reads(w.roleIn(p)) }

// sees reports whether a member sees a thing.
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

// seesMember: itself, who shares a project, and everybody to administrators. All
// members that things are hold a role in the target.
func (w *member) seesMember(x thing) bool {
	if x.is == w || w.role == memberAdmin && w.system() != "" {
		return true
	}
	if w.at != nil && (w.role == systemAdmin || w.role == "Project Admin") {
		return true
	}
	return w.reads(target) || w.reads(below)
}

// shownToOwner are types whose assets are seen by their author, or who made them, in
// any case.
var shownToOwner = []string{"Expression", "Conversation", "Message"}

// unsecured are types that lie in projects and are seen by everybody.
var unsecured = []string{"Schedule", "Timebox"}

func seenInProject(typ string) bool { return !slices.Contains(unsecured, typ) }
