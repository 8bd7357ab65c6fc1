package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// used returns the tables that a statement needs: those that an expression reads, those on the
// path to them, and inner joins that leave rows out.
func (e *emitter) used(from *query.Table, cells, where []query.Expr, order []query.Order) map[*query.Table]bool {
	u := &usage{e: e, read: map[*query.Table]bool{}, parent: map[*query.Table]*query.Table{}}
	u.tree(from)
	u.clauses(cells, where, order)
	u.Table(from)
	u.inner(from)
	return u.read
}

// usage collects which tables are read.
type usage struct {
	e      *emitter
	read   map[*query.Table]bool
	parent map[*query.Table]*query.Table
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

// restricts reports whether an inner join can remove or add rows. Joining only an asset does
// neither, since every id stored in a link is that of an asset.
func (u *usage) restricts(t *query.Table) bool {
	if t.Kind != query.Asset || t.Typed || t.When.Mode == query.Version || !isID(t.Key) {
		return true
	}
	return slices.ContainsFunc(t.On, func(x query.Expr) bool { return !u.e.Visibility.alwaysHolds(x) })
}

// isID reports whether a key compares with a column that always has an id.
func isID(key query.Expr) bool {
	c, _ := key.(query.Compare)
	r, ok := c.R.(query.ColumnOf)
	return ok && !r.T.Left && (r.T.Kind != query.Asset || r.Name == "id")
}

// Table marks a table, the tables on the path to it, and the tables that its conditions read.
func (u *usage) Table(t *query.Table) {
	if t == nil || u.read[t] {
		return
	}
	u.read[t] = true
	u.Table(u.parent[t])
	for _, other := range u.e.readAt(t) {
		u.Table(other)
	}
}

func (u *usage) clauses(cells, where []query.Expr, order []query.Order) {
	u.e.lookAtClauses(cells, where, order, u)
}

// Expr marks the tables that an expression reads, as it is written for this request.
func (u *usage) Expr(x query.Expr) { u.e.look(x, u) }

// Select marks the tables that a nested statement reads.
func (u *usage) Select(s *query.Select) {
	for _, t := range u.e.readIn(s) {
		u.Table(t)
	}
}

// look visits the parts of an expression, as it is written for this request.
func (e *emitter) look(x query.Expr, v query.Visitor) {
	if l, ok := x.(query.InLookup); ok && l.By.Known {
		x = l.X
	} else if ok {
		x = l.Else
	}
	if g, ok := x.(query.Granted); ok {
		x = e.Visibility.decided(g.X)
	}
	if !e.Visibility.alwaysHolds(x) {
		query.Walk(x, v)
	}
}

func (*emitter) lookAtClauses(cells, where []query.Expr, order []query.Order, v query.Visitor) {
	for _, x := range cells {
		v.Expr(x)
	}
	for _, x := range where {
		v.Expr(x)
	}
	for _, o := range order {
		v.Expr(o.X)
	}
}

// readIn returns the tables that a nested statement reads, its own and others. The result is
// cached, since the same statements occur in many others and in the conditions of many tables.
func (e *emitter) readIn(s *query.Select) []*query.Table {
	if all, known := e.readBy[s]; known {
		return all
	}
	r := &reading{e: e, known: map[*query.Table]bool{}}
	e.lookAtClauses(s.Cells, s.Where, s.Order, r)
	r.inside(s.From)
	e.readBy[s] = r.tables
	return r.tables
}

// readAt returns the tables that the conditions of t read.
func (e *emitter) readAt(t *query.Table) []*query.Table {
	if all, known := e.readOn[t]; known {
		return all
	}
	r := &reading{e: e, known: map[*query.Table]bool{}}
	r.conditions(t)
	e.readOn[t] = r.tables
	return r.tables
}

// reading collects the tables that are read, each once.
type reading struct {
	e      *emitter
	known  map[*query.Table]bool
	tables []*query.Table
}

// Table adds a table.
func (r *reading) Table(t *query.Table) {
	if t != nil && !r.known[t] {
		r.known[t] = true
		r.tables = append(r.tables, t)
	}
}

// Expr adds the tables that an expression reads.
func (r *reading) Expr(x query.Expr) { r.e.look(x, r) }

// Select adds the tables that a nested statement reads.
func (r *reading) Select(s *query.Select) {
	for _, t := range r.e.readIn(s) {
		r.Table(t)
	}
}

func (r *reading) conditions(t *query.Table) {
	if t.Key != nil {
		r.Expr(t.Key)
	}
	for _, x := range t.On {
		r.Expr(x)
	}
	r.Table(t.When.Base)
}

func (r *reading) inside(t *query.Table) {
	r.conditions(t)
	for _, j := range t.Joins {
		r.inside(j)
	}
}
