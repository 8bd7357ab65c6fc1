package sqlgen

import (
	"github.com/alds-dev/alds/internal/query"
)

// plain are the conditions that are quick and hang on nothing but the rows of their
// SELECT. Without the others there are more rows.
type plain struct {
	own     map[*query.Table]bool
	moments bool         // rows are read at the moments of others
	from    *query.Table // is found by this instead of an outer row
	by      query.Expr
}

func newPlain(from *query.Table) *plain {
	p := &plain{own: map[*query.Table]bool{}}
	p.add(from)
	return p
}

func (p *plain) add(t *query.Table) {
	p.own[t] = true
	p.moments = p.moments || t.When.Mode == query.Each
	for _, j := range t.Joins {
		p.add(j)
	}
}

// key is what a table is found by.
func (p *plain) key(t *query.Table) query.Expr {
	if t == p.from {
		return p.by
	}
	return t.Key
}

// only keeps the plain ones of some conditions. That something has the type of an outer
// row becomes that it has one of the types of such rows.
func (p *plain) only(list []query.Expr) []query.Expr {
	var kept []query.Expr
	for _, x := range list {
		if c, ok := x.(query.Compare); ok {
			if up, ok := c.R.(query.ColumnOf); ok && !p.own[up.T] {
				x = ofTypes([]query.Expr{x}, up.T)[0]
			}
		}
		if p.has(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func (p *plain) has(x query.Expr) bool {
	v := &plainness{own: p.own}
	v.Expr(x)
	return !v.not
}

// plainness finds out whether a condition is plain.
type plainness struct {
	own map[*query.Table]bool
	not bool
}

// Expr looks at a part of the condition.
func (v *plainness) Expr(x query.Expr) {
	switch x := x.(type) {
	case block:
		v.Expr(x.Expr)
		return
	case query.InLookup:
		if x.By.Known {
			v.Expr(x.X)
			return
		}
		v.not = true
	case query.SeesMember, query.SeesAll, query.Granted, query.RoleIn, query.IDOfType, query.InIDsOfType, fixed:
		v.not = true
		return
	case query.Visible:
		v.not = v.not || x.By != nil
	}
	query.Walk(x, v)
}

// Table looks at a table that is read.
func (v *plainness) Table(t *query.Table) { v.not = v.not || !v.own[t] }

// Select looks at a SELECT inside.
func (v *plainness) Select(*query.Select) { v.not = true }
