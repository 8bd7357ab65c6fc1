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
	case len(e.Sight.Scopes) <= MaxInlineScopes:
		e.ids(e.Sight.Scopes)
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
	e.arg(e.Sight.Member)
	e.put(" AND m.role_id NOT IN ")
	e.ids(e.Sight.Blind)
	e.put(" AND NOT EXISTS (SELECT 1 FROM ", names(held, "n", "k"))
	e.arg(e.Sight.Member)
	e.put(" AND k.descendant_id = c.descendant_id AND k.depth < c.depth AND n.role_id IN ")
	e.ids(e.Sight.Blind)
	e.put("))")
}
