package sqlgen

import "github.com/alds-dev/alds/internal/query"

// MaxInlineScopes is the most readable scopes that are listed in a statement;
// with more, the statement looks them up.
const MaxInlineScopes = 200

// visible writes the condition that a row lies in a readable scope.
func (e *emitter) visible(x query.Visible) {
	scope := e.aliasOf(x.T) + ".scope_id"
	if !x.Strict {
		e.put("(", scope, " IS NULL OR ")
	}
	e.put(scope, " IN ")
	switch {
	case len(e.Visibility.Scopes) <= MaxInlineScopes:
		e.ids(e.Visibility.Scopes)
	default:
		e.readable()
	}
	if !x.Strict {
		e.put(")")
	}
}

// readable writes the scopes that the member's roles reach: those below a role
// that reads, unless a nearer role does not. It says what package auth says.
func (e *emitter) readable() {
	const held = "scope_member %m JOIN scope_closure %c ON %c.ancestor_id = %m.scope_id AND %c.until_moment = %f WHERE %m.until_moment = %f AND %m.member_id = "
	e.put("(SELECT c.descendant_id FROM ", names(held, "m", "c"))
	e.arg(e.Visibility.Member)
	e.put(" AND m.role_id NOT IN ")
	e.ids(e.Visibility.NoRead)
	e.put(" AND NOT EXISTS (SELECT 1 FROM ", names(held, "n", "k"))
	e.arg(e.Visibility.Member)
	e.put(" AND k.descendant_id = c.descendant_id AND k.depth < c.depth AND n.role_id IN ")
	e.ids(e.Visibility.NoRead)
	e.put("))")
}

// notHidden writes the condition that a row lies in no project that is deleted, or
// below one that is: in none of those listed, or, where they are not known or
// the row is of another time, in none of those that the statement finds.
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
		e.put("NOT EXISTS (SELECT 1 FROM scope_hidden h WHERE h.scope_id = ", scope, " AND ")
		e.hiddenAt(moment)
		e.put(")")
		return
	}
	if !x.Strict {
		e.put("(", scope, " IS NULL OR ")
	}
	e.put(scope, " NOT IN ")
	if h := e.Visibility.Hidden; h != nil && when.Mode == query.Now {
		e.ids(h.Now)
	} else {
		e.put("(SELECT h.scope_id FROM scope_hidden h WHERE ")
		e.hiddenAt(moment)
		e.put(")")
	}
	if !x.Strict {
		e.put(")")
	}
}

// hiddenAt writes that a row of scope_hidden holds at a moment; nil: now.
func (e *emitter) hiddenAt(moment query.Expr) {
	if moment == nil {
		e.put("h.until_moment = ", forever)
		return
	}
	e.put("h.since_moment <= ")
	e.expr(moment)
	e.put(" AND h.until_moment > ")
	e.expr(moment)
}

// InHidden is the condition that the project in a column is hidden now: deleted,
// or below a project that is. A null is in none.
func InHidden(column string) string {
	return "(" + column + " IS NOT NULL AND " + column + " IN (SELECT h.scope_id FROM scope_hidden h WHERE h.until_moment = " + forever + "))"
}
