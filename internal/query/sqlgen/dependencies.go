package sqlgen

import "github.com/alds-dev/alds/internal/query"

// dependencies finds which tables an expression reads, in the form in which it is written for one
// member. The results are cached, because the same nested statements occur in many other statements
// and in the conditions of many tables.
type dependencies struct {
	visibility Visibility
	bySelect   map[*query.Select][]*query.Table
	byTable    map[*query.Table][]*query.Table
}

func newDependencies(v Visibility) *dependencies {
	return &dependencies{v, map[*query.Select][]*query.Table{}, map[*query.Table][]*query.Table{}}
}

// visit visits the parts of an expression. It leaves out parts that are not written, because the
// member's rights decide them.
func (d *dependencies) visit(x query.Expr, v query.Visitor) {
	if l, ok := x.(query.InLookup); ok && l.By.Known {
		x = l.X
	} else if ok {
		x = l.Else
	}
	if g, ok := x.(query.Granted); ok {
		x = d.visibility.decided(g.X)
	}
	if !d.visibility.alwaysHolds(x) {
		query.Walk(x, v)
	}
}

// visitAll visits the clauses of a statement.
func visitAll(cells, where []query.Expr, order []query.Order, v query.Visitor) {
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

// in returns the tables that a nested statement reads: its own tables and those of outer
// statements.
func (d *dependencies) in(s *query.Select) []*query.Table {
	if all, cached := d.bySelect[s]; cached {
		return all
	}
	c := d.collector()
	visitAll(s.Cells, s.Where, s.Order, c)
	c.inside(s.From)
	d.bySelect[s] = c.tables
	return c.tables
}

// of returns the tables that the conditions of t read.
func (d *dependencies) of(t *query.Table) []*query.Table {
	if all, cached := d.byTable[t]; cached {
		return all
	}
	c := d.collector()
	c.conditions(t)
	d.byTable[t] = c.tables
	return c.tables
}

func (d *dependencies) collector() *collector {
	return &collector{deps: d, has: map[*query.Table]bool{}}
}

// collector collects the tables that are read, each once.
type collector struct {
	deps   *dependencies
	has    map[*query.Table]bool
	tables []*query.Table
}

// Table adds a table.
func (c *collector) Table(t *query.Table) {
	if t != nil && !c.has[t] {
		c.has[t] = true
		c.tables = append(c.tables, t)
	}
}

// Expr adds the tables that an expression reads.
func (c *collector) Expr(x query.Expr) { c.deps.visit(x, c) }

// Select adds the tables that a nested statement reads.
func (c *collector) Select(s *query.Select) {
	for _, t := range c.deps.in(s) {
		c.Table(t)
	}
}

func (c *collector) conditions(t *query.Table) {
	if t.Key != nil {
		c.Expr(t.Key)
	}
	for _, x := range t.On {
		c.Expr(x)
	}
	c.Table(t.When.Base)
}

func (c *collector) inside(t *query.Table) {
	c.conditions(t)
	for _, j := range t.Joins {
		c.inside(j)
	}
}
