package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/query"
)

// apart separates conditions that may be written with a sub-select from others.
func (e *emitter) apart(on []query.Expr) (plain, asking []query.Expr) {
	for _, x := range e.flatten(on) {
		if e.asksNothing(x) {
			plain = append(plain, x)
		} else {
			asking = append(asking, x)
		}
	}
	if len(plain) == 0 {
		plain = []query.Expr{fixed{text: "1 = 1"}}
	}
	return plain, asking
}

// joinedApart writes a table whose ON takes no sub-selects, and returns those conditions
// that are left for the WHERE: all of an inner join. Those of a LEFT JOIN choose the rows
// before they are joined. Where they read the row that is joined to, as at moments of its
// own, there is no other place for them than ON.
func (e *emitter) joinedApart(j *query.Table, on *[]query.Expr, asking []query.Expr) (left []query.Expr) {
	if !j.Left || len(asking) == 0 {
		e.table(j)
		return asking
	}
	r := newReads()
	r.own[j] = true
	r.exprs(asking)
	if r.moments || r.outer() {
		e.table(j)
		*on = append(*on, asking...)
		return nil
	}
	e.write("(SELECT ", e.aliasOf(j), ".* FROM ")
	e.table(j)
	e.write(" WHERE ")
	e.conds(asking)
	e.write(") ", e.aliasOf(j))
	return nil
}

// asksNothing reports whether a condition is surely written without a sub-select.
func (e *emitter) asksNothing(x query.Expr) bool {
	asksNot := func(x query.Expr) bool { return !e.asksNothing(x) }
	switch x := x.(type) {
	case query.ColumnOf, query.Arg, query.Num, query.ActorID, notBefore, fixed:
		return true
	case query.Compare:
		return e.asksNothing(x.L) && e.asksNothing(x.R)
	case query.In:
		return len(x.List) <= db.MaxIn && e.asksNothing(x.X) && !slices.ContainsFunc(x.List, asksNot)
	case query.IsNull:
		return e.asksNothing(x.X)
	case query.All:
		return !slices.ContainsFunc(x, asksNot)
	case query.Any:
		return !slices.ContainsFunc(x, asksNot)
	case query.Visible:
		return x.By == nil && len(e.Visibility.Scopes) <= MaxInlineScopes
	case query.NotHidden:
		return x.T.When.Mode == query.Now && e.Visibility.Hidden != nil
	case query.SeesMember:
		return x.By == nil && e.Visibility.Members != nil
	case unkeyed:
		return e.asksNothing(x.Expr)
	}
	return false
}
