package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// used returns the tables that a statement needs: those that an expression reads,
// those that they are joined through, and inner joins that leave rows out.
func (e *emitter) used(from *query.Table, cells, where []query.Expr, order []query.Order) map[*query.Table]bool {
	u := &usage{visibility: e.Visibility, read: map[*query.Table]bool{}, parent: map[*query.Table]*query.Table{}}
	u.tree(from)
	u.clauses(cells, where, order)
	u.Table(from)
	u.inner(from)
	return u.read
}

// usage collects which tables are read.
type usage struct {
	visibility Visibility
	read       map[*query.Table]bool
	parent     map[*query.Table]*query.Table
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

// restricts reports whether an inner join can leave rows out or bring more:
// every id stored in a link is that of an asset, so joining the asset alone does
// neither.
func (u *usage) restricts(t *query.Table) bool {
	if t.Kind != query.Asset || t.Typed || t.When.Mode == query.Version || !isID(t.Key) {
		return true
	}
	return slices.ContainsFunc(t.On, func(x query.Expr) bool { return !u.visibility.alwaysHolds(x) })
}

// isID reports whether a key compares with a column that always has an id.
func isID(key query.Expr) bool {
	c, _ := key.(query.Compare)
	r, ok := c.R.(query.ColumnOf)
	return ok && !r.T.Left && (r.T.Kind != query.Asset || r.Name == "id")
}

// Table marks a table, the tables it is joined through, and what its conditions
// read.
func (u *usage) Table(t *query.Table) {
	if t == nil || u.read[t] {
		return
	}
	u.read[t] = true
	u.Table(u.parent[t])
	u.conditions(t)
}

func (u *usage) conditions(t *query.Table) {
	if t.Key != nil {
		u.Expr(t.Key)
	}
	u.exprs(t.On)
	u.Table(t.When.Base)
}

func (u *usage) clauses(cells, where []query.Expr, order []query.Order) {
	u.exprs(cells)
	u.exprs(where)
	for _, o := range order {
		u.Expr(o.X)
	}
}

func (u *usage) exprs(list []query.Expr) {
	for _, x := range list {
		u.Expr(x)
	}
}

// Expr marks the tables that an expression reads as it is written for this request.
func (u *usage) Expr(x query.Expr) {
	if l, ok := x.(query.InLookup); ok && l.By.Known {
		x = l.X
	} else if ok {
		x = l.Else
	}
	if g, ok := x.(query.Granted); ok {
		x = u.visibility.decided(g.X)
	}
	if !u.visibility.alwaysHolds(x) {
		query.Walk(x, u)
	}
}

// Select marks what a statement inside this one reads of it.
func (u *usage) Select(s *query.Select) {
	u.clauses(s.Cells, s.Where, s.Order)
	u.inside(s.From)
}

func (u *usage) inside(t *query.Table) {
	u.conditions(t)
	for _, j := range t.Joins {
		u.inside(j)
	}
}
