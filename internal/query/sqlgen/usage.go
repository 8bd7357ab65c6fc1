package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// used returns the tables that a statement needs: those that an expression reads, those on the
// path to them, and inner joins that leave rows out.
func (e *emitter) used(from *query.Table, cells, where []query.Expr, order []query.Order) map[*query.Table]bool {
	u := &usage{deps: e.deps, read: map[*query.Table]bool{}, parent: map[*query.Table]*query.Table{from: nil}}
	u.tree(from)
	visitAll(cells, where, order, u)
	u.Table(from)
	u.inner(from)
	return u.read
}

// usage collects which tables of one statement are read.
type usage struct {
	deps   *dependencies
	read   map[*query.Table]bool
	parent map[*query.Table]*query.Table // of each table of the statement, without those of nested statements
}

func (u *usage) tree(t *query.Table) {
	for _, j := range t.Joins {
		u.parent[j] = t
		u.tree(j)
	}
}

// inner marks the inner joins that restrict the rows.
func (u *usage) inner(t *query.Table) {
	for _, j := range t.Joins {
		if !j.Left && u.restricts(j) {
			u.Table(j)
		}
		u.inner(j)
	}
}

// restricts reports whether an inner join can remove or add rows. An asset that is joined only by
// its id does neither, because every id stored in a link is the id of an asset.
func (u *usage) restricts(t *query.Table) bool {
	if t.Kind != query.Asset || t.Typed || t.When.Mode == query.Version || !isID(t.Key) {
		return true
	}
	return slices.ContainsFunc(t.On, func(x query.Expr) bool { return !u.deps.visibility.alwaysHolds(x) })
}

// isID reports whether a key compares with a column that always has an id.
func isID(key query.Expr) bool {
	c, _ := key.(query.Compare)
	r, ok := c.R.(query.ColumnOf)
	return ok && !r.T.Left && (r.T.Kind != query.Asset || r.Name == "id")
}

// Table marks a table of the statement, the tables on the path to it, and the tables that its
// conditions read. It ignores tables of outer and nested statements: dependencies has found which
// tables a nested statement reads, and the conditions of an outer statement cannot read this one.
func (u *usage) Table(t *query.Table) {
	parent, own := u.parent[t]
	if !own || u.read[t] {
		return
	}
	u.read[t] = true
	u.Table(parent)
	for _, other := range u.deps.of(t) {
		u.Table(other)
	}
}

// Expr marks the tables that an expression reads, as it is written for this request.
func (u *usage) Expr(x query.Expr) { u.deps.visit(x, u) }

// Select marks the tables that a nested statement reads.
func (u *usage) Select(s *query.Select) {
	for _, t := range u.deps.in(s) {
		u.Table(t)
	}
}
