package sqlgen

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
)

var forever = strconv.FormatInt(db.Forever, 10)

// names fills in the aliases of a piece of fixed SQL.
func names(text, member, closure string) string {
	return strings.NewReplacer("%m", member, "%c", closure, "%f", forever).Replace(text)
}

// Visibility is what the member who asks may read, and the roles that decide about
// writing it.
type Visibility struct {
	Member int64        // stored id
	All    bool         // everything
	Scopes []int64      // readable scopes, when not All
	Roles  []meta.Role  // the role that decides in each of Scopes
	System meta.Role    // the role in the whole system
	Held   meta.RoleSet // the roles held anywhere
	NoRead []int64      // stored ids of the roles that read nothing
	Role   *meta.Type   // the type of roles
	Hidden *Hidden      // nil: the statement reads which projects are hidden
}

// Hidden is what is known of the hidden projects, which are deleted or below a
// deleted one.
type Hidden struct {
	Now  []int64 // stored ids of those that are hidden now
	Ever bool    // some may have been hidden at some time
}

// none reports whether no row of t can lie in a hidden project.
func (h *Hidden) none(t *query.Table) bool {
	if h == nil {
		return false
	}
	if t.When.Mode == query.Now {
		return len(h.Now) == 0
	}
	return !h.Ever
}

// alwaysHolds reports whether a condition leaves out no row for this member, so
// that it need not be written.
func (v Visibility) alwaysHolds(x query.Expr) bool {
	switch x := x.(type) {
	case query.Visible:
		return v.All
	case query.NotHidden:
		return v.Hidden.none(x.T)
	}
	return false
}

// MaxInlineScopes is the most readable scopes that are listed in a statement. With
// more, the statement reads them from the member's roles.
const MaxInlineScopes = 200

// visible writes the condition that a row lies in a readable scope.
func (e *emitter) visible(x query.Visible) {
	scope := e.aliasOf(x.T) + ".scope_id"
	closing := e.nullOr(scope, x.Strict)
	e.write(scope, " IN ")
	if len(e.Visibility.Scopes) <= MaxInlineScopes {
		e.ids(e.Visibility.Scopes)
	} else {
		e.readable()
	}
	e.write(closing)
}

// nullOr begins a condition on the scope of a row, which holds for rows without
// one unless every row has one. It returns what closes the condition.
func (e *emitter) nullOr(scope string, strict bool) (closing string) {
	if strict {
		return ""
	}
	e.write("(", scope, " IS NULL OR ")
	return ")"
}

// readable writes the scopes that the member reads: those at or below a role that
// reads, unless a role nearer to them does not. Package auth has the same rule.
func (e *emitter) readable() {
	const held = "scope_member %m JOIN scope_closure %c ON %c.ancestor_id = %m.scope_id AND %c.until_moment = %f WHERE %m.until_moment = %f AND %m.member_id = "
	e.write("(SELECT c.descendant_id FROM ", names(held, "m", "c"), query.ActorID{},
		" AND m.role_id NOT IN ", e.Visibility.NoRead,
		" AND NOT EXISTS (SELECT 1 FROM ", names(held, "n", "k"), query.ActorID{},
		" AND k.descendant_id = c.descendant_id AND k.depth < c.depth AND n.role_id IN ", e.Visibility.NoRead, "))")
}

// notHidden writes the condition that a row lies in no hidden project. Those hidden
// now are listed when they are known; else the statement reads scope_hidden.
func (e *emitter) notHidden(x query.NotHidden) {
	scope, when := e.aliasOf(x.T)+".scope_id", x.T.When
	var moment query.Expr
	switch when.Mode {
	case query.Now:
	case query.At:
		moment = query.Arg{V: when.Moment}
	case query.Each:
		moment = query.ColumnOf{T: when.Base, Name: "moment"}
	case query.Version:
		moment = query.ColumnOf{T: x.T, Name: "moment"}
	}
	if when.Mode == query.Each || when.Mode == query.Version {
		e.write("NOT EXISTS (SELECT 1 FROM scope_hidden h WHERE h.scope_id = ", scope, " AND ")
		e.hiddenAt(moment)
		e.write(")")
		return
	}
	closing := e.nullOr(scope, x.Strict)
	e.write(scope, " NOT IN ")
	if h := e.Visibility.Hidden; h != nil && when.Mode == query.Now {
		e.ids(h.Now)
	} else {
		e.write("(SELECT h.scope_id FROM scope_hidden h WHERE ")
		e.hiddenAt(moment)
		e.write(")")
	}
	e.write(closing)
}

// hiddenAt writes that a row of scope_hidden holds at a moment; nil: now.
func (e *emitter) hiddenAt(moment query.Expr) {
	if moment == nil {
		e.write("h.until_moment = ", forever)
		return
	}
	e.write("h.since_moment <= ", moment, " AND h.until_moment > ", moment)
}

// InHidden is the condition that the project in a column is hidden now: deleted,
// or below a project that is. A null is in none.
func InHidden(column string) string {
	return "(" + column + " IS NOT NULL AND " + column + " IN (SELECT h.scope_id FROM scope_hidden h WHERE h.until_moment = " + forever + "))"
}
