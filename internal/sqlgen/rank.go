package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// ofPage are the conditions on the rows of a page.
func (w Writer) ofPage(p *query.Plan) []query.Expr {
	all := slices.Concat(p.Where, p.Resume)
	if !w.listsScopes(p) {
		all = append(all, p.Ranked...)
	}
	return all
}

// listsScopes reports whether the statement of a page has a list of the scopes that its
// rows lie in. Servers look into keys for each of them if there are bounds to its ranks.
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

// inLookup writes that a row lies in one of the scopes that a lookup has found. Where they
// were too many to list, most rows do, so that a page that stops when it is full asks each.
func (e *emitter) inLookup(x query.InLookup) {
	switch {
	case !x.By.Known:
		e.tests = e.stops
		e.cond(x.Else)
		e.tests = false
	case len(x.By.Found) == 0:
		e.write("1 = 0")
	default:
		e.write(x.X, " IN ", x.By.Found)
	}
}
