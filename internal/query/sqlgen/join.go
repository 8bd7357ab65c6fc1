package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// splitQueries splits conditions into conditions without a sub-select (plain) and conditions that
// may have one (asking).
func (e *emitter) splitQueries(on []query.Expr) (plain, asking []query.Expr) {
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

// row writes a table and its alias. If the dialect allows no sub-selects in ON, the row also
// has the ids of joined rows that only a sub-select finds. An example is the member who closed
// an asset.
func (e *emitter) row(t *query.Table, used map[*query.Table]bool) {
	var found [][]*query.Table
	if !e.Dialect.QueriesInON {
		found = e.ways(t, t, nil, used)
	}
	if len(found) == 0 {
		e.table(t)
		return
	}
	alias := e.aliasOf(t)
	e.write("(SELECT ", alias, ".*")
	for _, way := range found {
		j := way[len(way)-1]
		id := e.aliasOf(j) + "_id"
		e.replaced.ids[j] = fixed{text: alias + "." + id}
		e.write(", (SELECT ", e.aliasOf(j), ".id FROM ")
		sep := ""
		for _, j := range way {
			e.write(sep)
			e.table(j)
			sep = " CROSS JOIN "
		}
		e.where(way[0], e.conditionsOf(way[1:]))
		e.write(") AS ", id)
	}
	e.write(" FROM ")
	e.table(t)
	e.write(") ", alias)
}

// ways returns the paths of joins from t to tables whose ids become columns of the row. way is the
// path so far, and last is the table at its end.
func (e *emitter) ways(t, last *query.Table, way []*query.Table, used map[*query.Table]bool) (found [][]*query.Table) {
	for _, j := range last.Joins {
		if !used[j] || !j.Left || j.When.Mode == query.Version { // in mode Version, there may be several rows
			continue
		}
		way := append(slices.Clone(way), j)
		if e.isFound(t, way) {
			found = append(found, way)
		}
		found = append(found, e.ways(t, j, way, used)...)
	}
	return found
}

// isFound reports whether the id at the end of a path needs a sub-select, and this sub-select reads
// only a row of t. It returns false if a table nearer to the end can find the id in the same way.
func (e *emitter) isFound(t *query.Table, way []*query.Table) bool {
	j := way[len(way)-1]
	if _, asking := e.splitQueries(e.conditions(j)); !readsMore(j, asking) || len(way) > 1 && e.isFound(way[0], way[1:]) {
		return false
	}
	return !readsMore(j, e.conditionsOf(way), append(way, t)...)
}

// conditionsOf returns the conditions of several tables.
func (e *emitter) conditionsOf(tables []*query.Table) (all []query.Expr) {
	for _, t := range tables {
		all = append(all, e.conditions(t)...)
	}
	return all
}

// readsMore reports whether conditions read rows of other tables than the table joined and the
// tables in more. The condition on the time of the table joined does not count, because it has no
// sub-select.
func readsMore(joined *query.Table, on []query.Expr, more ...*query.Table) bool {
	r := newReads()
	r.own[joined], r.joined = true, joined
	for _, t := range more {
		r.own[t] = true
	}
	r.exprs(on)
	return r.outer()
}

// joinRestricted writes a joined table for a dialect without sub-selects in ON. asking has the
// conditions of the join that have sub-selects. For an inner join, joinRestricted returns these
// conditions for the WHERE. For a LEFT JOIN, it applies the conditions to the rows of the table
// before the rows are joined. Conditions that read rows of other tables, such as a moment, stay in
// ON.
func (e *emitter) joinRestricted(j *query.Table, used map[*query.Table]bool, on *[]query.Expr, asking []query.Expr) (left []query.Expr) {
	switch {
	case !j.Left || len(asking) == 0:
		e.row(j, used)
		return asking
	case readsMore(j, asking):
		e.row(j, used)
		*on = append(*on, asking...)
		return nil
	}
	e.write("(SELECT ", e.aliasOf(j), ".* FROM ")
	e.row(j, used)
	e.write(" WHERE ")
	e.conds(asking)
	e.write(") ", e.aliasOf(j))
	return nil
}

// asksNothing reports whether a condition is certainly written without a sub-select.
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
	case query.OfReadType:
		return true
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
