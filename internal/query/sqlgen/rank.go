package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// ofPage returns the conditions on the rows of a page.
func (w Writer) ofPage(p *query.Plan) []query.Expr {
	all := slices.Concat(p.Where, p.Resume)
	if !w.listsScopes(p) {
		all = append(all, p.Ranked...)
	}
	return all
}

// listsScopes reports whether the statement of a page lists the scopes of its rows. Such a
// statement has no condition on the rank, because with this condition, servers would search an
// index once for each scope in the list.
func (w Writer) listsScopes(p *query.Plan) bool {
	isList := func(x query.Expr) bool {
		switch x := x.(type) {
		case query.InLookup:
			return x.By.Known
		case query.Visible:
			return !w.Visibility.All && x.By == nil && len(w.Visibility.Scopes) <= MaxInlineScopes
		}
		return false
	}
	return slices.ContainsFunc(query.Conjuncts(slices.Concat(p.From.On, p.Where)), isList)
}

// inLookup writes the condition that a row is in a scope that a lookup found. If the lookup found
// too many scopes to list, most rows satisfy the condition. A page that stops when it is full then
// tests the condition for each row.
func (e *emitter) inLookup(x query.InLookup) {
	switch {
	case !x.By.Known:
		e.page.tests = e.page.stops
		e.cond(x.Else)
		e.page.tests = false
	case len(x.By.Found) == 0:
		e.write("1 = 0")
	default:
		e.write(x.X, " IN ", x.By.Found)
	}
}
