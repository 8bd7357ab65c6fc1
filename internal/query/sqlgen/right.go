package sqlgen

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
)

// yes is a condition that always holds, and no is a condition that never holds.
var (
	yes = query.All{}
	no  = query.Any{}
)

func isYes(x query.Expr) bool { all, ok := x.(query.All); return ok && len(all) == 0 }
func isNo(x query.Expr) bool  { alts, ok := x.(query.Any); return ok && len(alts) == 0 }

// decided inserts the member's roles into a condition on rights. It leaves out the parts that the
// roles alone decide.
func (v Visibility) decided(x query.Expr) query.Expr {
	switch x := x.(type) {
	case query.HasRole:
		if x.System && x.Roles.Has(v.System) && v.System != meta.NoAccess || !x.System && v.Held&x.Roles != 0 {
			return yes
		}
		return no
	case query.RoleIn:
		if len(v.Scopes) == 0 || len(v.scopesWith(x.Roles)) == 0 {
			return no
		}
	case query.All:
		return v.decidedAll(x)
	case query.Any:
		return v.decidedAny(x)
	case query.Exists:
		return v.decidedExists(x)
	}
	return x
}

func (v Visibility) decidedAll(list query.All) query.Expr {
	var all query.All
	for _, x := range list {
		switch x = v.decided(x); {
		case isNo(x):
			return no
		case !isYes(x):
			all = append(all, x)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

func (v Visibility) decidedAny(list query.Any) query.Expr {
	var alts query.Any
	for _, x := range list {
		switch x = v.decided(x); {
		case isYes(x):
			return yes
		case !isNo(x):
			alts = append(alts, x)
		}
	}
	if len(alts) == 1 {
		return alts[0]
	}
	return alts
}

// decidedExists decides the conditions on the rows of a sub-select. The sub-select is shared,
// so it is copied instead of changed.
func (v Visibility) decidedExists(x query.Exists) query.Expr {
	where := v.decidedAll(x.S.Where)
	switch {
	case !isNo(where):
	case x.Not:
		return yes
	default:
		return no
	}
	s := *x.S
	if s.Where = nil; !isYes(where) {
		s.Where = []query.Expr{where}
	}
	return query.Exists{S: &s, Not: x.Not}
}

// scopesWith returns the scopes in which the member's role is one of roles.
func (v Visibility) scopesWith(roles meta.RoleSet) []int64 {
	var scopes []int64
	for i, role := range v.Roles {
		if roles.Has(role) {
			scopes = append(scopes, v.Scopes[i])
		}
	}
	return scopes
}

// roleIn writes the condition that a row is in a scope where the member's role is one of a set. If
// there are many such scopes, the statement reads them from the member's roles. The nearest role at
// or above a scope decides. Package auth has the same rule.
func (e *emitter) roleIn(x query.RoleIn) {
	e.write(e.aliasOf(x.T), ".scope_id IN ")
	scopes := e.Visibility.scopesWith(x.Roles)
	if len(scopes) <= MaxInlineScopes {
		e.ids(scopes)
		return
	}
	if e.Visibility.AllWithin {
		e.within()
		return
	}
	var ids []int64
	for role := range meta.OtherRole {
		if x.Roles.Has(role) {
			ids = append(ids, e.Visibility.Role.Stored(int64(role)))
		}
	}
	e.write("(SELECT g.descendant_id FROM ", e.held("r", "g"), query.ActorID{}, " AND r.role_id IN ", ids,
		" AND NOT EXISTS (SELECT 1 FROM ", e.held("q", "d"), query.ActorID{},
		" AND d.descendant_id = g.descendant_id AND d.depth < g.depth AND q.role_id NOT IN ", ids, "))")
	if e.Visibility.Within != nil {
		e.write(" AND ", e.aliasOf(x.T), ".scope_id IN ")
		e.within()
	}
}
