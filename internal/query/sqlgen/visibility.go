package sqlgen

import (
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

var forever = strconv.FormatInt(db.Forever, 10)

// Visibility has the rights of the member who runs a query: what the member may read, and the roles
// that decide what the member may write.
type Visibility struct {
	Member int64        // stored id of the member
	All    bool         // true: the member reads everything
	Scopes []int64      // readable scopes, if not All
	Roles  []meta.Role  // the role of the member in each of Scopes, in the same order
	System meta.Role    // the role of the member in the whole system
	Held   meta.RoleSet // all roles of the member, in scopes and in the whole system
	NoRead []int64      // stored ids of the roles that allow no reading
	Role   *meta.Type   // the type of roles
	// DefaultRole is the attribute DefaultRole of the type Member.
	DefaultRole *meta.Attr
	// Members are the visible members, if neither AllMembers nor All; nil: the statement reads
	// them.
	Members    []int64
	AllMembers bool
	// At is the moment of the rights that statements read; 0: now.
	At     int64
	Hidden *Hidden // nil: the statement reads which projects are hidden

	// The limits of the access token of the request. Scopes and Roles have only what they leave.
	Within    []int64  // projects; the member reads these and the projects below; nil: all projects
	AllWithin bool     // the member is System Admin in all projects that Within leaves
	Types     []string // types whose assets of projects the member reads, with the types below; nil: all types
}

// Hidden is what is known about hidden projects. A project is hidden if it, or one above it,
// is deleted.
type Hidden struct {
	Now  []int64 // stored ids of the projects that are hidden now
	Ever bool    // true: a project may have been hidden at some moment, now or earlier
}

// none reports whether no row of t can be in a hidden project.
func (h *Hidden) none(t *query.Table) bool {
	if h == nil {
		return false
	}
	if t.When.Mode == query.Now {
		return len(h.Now) == 0
	}
	return !h.Ever
}

// alwaysHolds reports whether a condition excludes no row for this member, so that it can be
// left out.
func (v Visibility) alwaysHolds(x query.Expr) bool {
	switch x := x.(type) {
	case query.Visible:
		return v.All && x.By == nil
	case query.SeesMember:
		return (v.All || v.AllMembers) && x.By == nil
	case query.OfReadType:
		return !slices.ContainsFunc(x.T.Of, func(t *meta.Type) bool { return !t.IsReadWith(v.Types) })
	case query.NotHidden:
		return v.Hidden.none(x.T)
	case query.Any:
		return slices.ContainsFunc(x, v.alwaysHolds)
	case query.All:
		return len(x) > 0 && !slices.ContainsFunc(x, func(k query.Expr) bool { return !v.alwaysHolds(k) })
	}
	return false
}

// MaxInlineScopes is the maximum number of readable scopes that a statement lists. If there are
// more, the statement reads them from the member's roles.
const MaxInlineScopes = 200

// visible writes the condition that a row is in a readable scope.
func (e *emitter) visible(x query.Visible) {
	scope := e.aliasOf(x.T) + ".scope_id"
	closing := e.nullOr(scope, x.Strict)
	e.write(scope, " IN ")
	e.readScopes(x.By)
	e.write(closing)
}

// ofReadType writes the condition that the access token allows reading assets of the type of a row.
func (e *emitter) ofReadType(x query.OfReadType) {
	types := slices.DeleteFunc(slices.Clone(x.T.Of), func(t *meta.Type) bool { return !t.IsReadWith(e.Visibility.Types) })
	switch len(types) {
	case len(x.T.Of):
		e.write("1 = 1")
	case 0:
		e.write("1 = 0")
	default:
		e.cond(query.In{X: query.ColumnOf{T: x.T, Name: "type"}, List: query.TypeCodes(types)})
	}
}

// nullOr begins a condition on the scope of a row. The condition also holds for rows without a
// scope, unless strict is true. nullOr returns the text that closes the condition.
func (e *emitter) nullOr(scope string, strict bool) (closing string) {
	if strict {
		return ""
	}
	e.write("(", scope, " IS NULL OR ")
	return ")"
}

// readable writes a sub-select of the scopes that a member reads. These are the scopes at or below
// a scope where the member has a role that allows reading, unless a nearer role does not allow it.
// Package auth has the same rule.
func (e *emitter) readable(member query.Expr) {
	e.write("(SELECT c.descendant_id FROM ", e.held("m", "c"), member,
		" AND m.role_id NOT IN ", e.Visibility.NoRead,
		" AND NOT EXISTS (SELECT 1 FROM ", e.held("n", "k"), member,
		" AND k.descendant_id = c.descendant_id AND k.depth < c.depth AND n.role_id IN ", e.Visibility.NoRead, "))")
}

// held returns the FROM and WHERE that read the roles of a member. The text ends where the caller
// writes the id of the member. The parameters are the aliases of scope_member and scope_closure.
func (e *emitter) held(member, closure string) string {
	return "scope_member " + member + " JOIN scope_closure " + closure + " ON " + closure + ".ancestor_id = " + member + ".scope_id AND " +
		e.holds(closure) + " WHERE " + e.holds(member) + " AND " + member + ".member_id = "
}

// holds returns the condition that a row of scope_member or scope_closure holds at the moment
// of the member's rights.
func (e *emitter) holds(alias string) string {
	if e.Visibility.At == 0 {
		return alias + ".until_moment = " + forever
	}
	at := strconv.FormatInt(e.Visibility.At, 10)
	return alias + ".since_moment <= " + at + " AND " + alias + ".until_moment > " + at
}

// seesMember writes the condition that a member sees another member. Members see themselves. They
// also see members who have a role in a scope that they read, or in a scope above it. Package auth
// has the same rule.
func (e *emitter) seesMember(x query.SeesMember) {
	viewer := x.By
	switch {
	case e.Visibility.alwaysHolds(x):
		e.write("1 = 1")
		return
	case viewer == nil && e.Visibility.Members != nil: // + 0 in inRuns: otherwise MariaDB reads all members first
		e.inRuns(x.ID, e.Visibility.Members)
		return
	case viewer == nil:
		e.write("(", x.ID, " = ", query.ActorID{})
	default:
		e.write("(", x.ID, " = ", viewer, " OR ")
		e.administersMembers(viewer)
	}
	e.write(" OR EXISTS (SELECT 1 FROM scope_member o JOIN scope_closure a ON a.ancestor_id = o.scope_id AND ",
		e.holds("a"), " WHERE o.member_id = ", x.ID, " AND ", e.holds("o"), " AND o.role_id NOT IN ", e.Visibility.NoRead, " AND a.descendant_id IN ")
	e.readScopes(viewer)
	e.write("))")
}

// seesAll writes the condition that a member is a system administrator.
func (e *emitter) seesAll(member query.Expr) {
	e.write("(")
	e.hasInSystem(member, meta.SystemAdmin)
	e.write(")")
}

// administersMembers writes the condition that a member sees all other members because of a role
// (auth.Actor.AllMembers). The caller also tests for members who see everything.
func (e *emitter) administersMembers(member query.Expr) {
	e.hasInSystem(member, meta.MemberAdmin)
	e.write(" OR EXISTS (SELECT 1 FROM scope_member x WHERE x.member_id = ", member, " AND ", e.holds("x"),
		" AND x.role_id IN ", e.stored(meta.SystemAdmin, meta.ProjectAdmin), ")")
}

// hasInSystem writes the condition that a member has a role in the whole system.
func (e *emitter) hasInSystem(member query.Expr, role meta.Role) {
	id := e.stored(role)
	relation := strconv.Itoa(e.Visibility.DefaultRole.Place.Code)
	e.write("EXISTS (SELECT 1 FROM asset_link y WHERE y.relation = ", relation, " AND y.from_type = ",
		strconv.Itoa(e.Visibility.DefaultRole.On.Code), " AND y.from_id = ", member, " AND ", e.holds("y"), " AND y.to_id IN ", id, ")",
		" OR EXISTS (SELECT 1 FROM scope_member z WHERE z.member_id = ", member, " AND ", e.holds("z"), " AND z.scope_id = 0 AND z.role_id IN ", id, ")")
}

// stored returns the stored ids of roles.
func (e *emitter) stored(roles ...meta.Role) []int64 {
	ids := make([]int64, len(roles))
	for i, r := range roles {
		ids[i] = e.Visibility.Role.Stored(int64(r))
	}
	return ids
}

// readScopes writes the list of the scopes that a member reads; nil: the member who runs the
// query.
func (e *emitter) readScopes(member query.Expr) {
	switch {
	case member != nil:
		e.readable(member)
	case len(e.Visibility.Scopes) <= MaxInlineScopes:
		e.ids(e.Visibility.Scopes)
	case e.Visibility.AllWithin:
		e.within()
	case e.Visibility.Within != nil:
		e.write("(SELECT x.descendant_id FROM ")
		e.readable(query.ActorID{})
		e.write(" x WHERE x.descendant_id IN ")
		e.within()
		e.write(")")
	default:
		e.readable(query.ActorID{})
	}
}

// within writes a sub-select of the projects that the access token leaves.
func (e *emitter) within() {
	above := e.Visibility.Within
	if above == nil {
		above = []int64{rootScope}
	}
	e.write("(SELECT u.descendant_id FROM scope_closure u WHERE ", e.holds("u"), " AND u.ancestor_id IN ", above, ")")
}

// rootScope is the stored id of the project above all others.
const rootScope = 0

// notHidden writes the condition that a row is in no hidden project. If the projects that are
// hidden now are known, they are listed. Otherwise the statement reads scope_hidden.
func (e *emitter) notHidden(x query.NotHidden) {
	scope, when := e.aliasOf(x.T)+".scope_id", x.T.When
	var moment query.Expr
	switch when.Mode {
	case query.Now:
	case query.At:
		moment = query.Arg{V: when.Moment}
	case query.Each:
		moment = e.sinceHorizon(query.ColumnOf{T: when.Base, Name: "moment"})
	case query.Version:
		moment = e.sinceHorizon(query.ColumnOf{T: x.T, Name: "moment"})
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

// hiddenAt writes the condition that a row of scope_hidden holds at a moment; nil: now.
func (e *emitter) hiddenAt(moment query.Expr) {
	if moment == nil {
		e.write("h.until_moment = ", forever)
		return
	}
	e.write("h.since_moment <= ", moment, " AND h.until_moment > ", moment)
}

// InHidden returns the condition that the project in a column is hidden now: the project, or a
// project above it, is deleted. A null is not hidden.
func InHidden(column string) string {
	return "(" + column + " IS NOT NULL AND " + column + " IN (SELECT h.scope_id FROM scope_hidden h WHERE h.until_moment = " + forever + "))"
}
