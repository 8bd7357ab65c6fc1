package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// plain are the conditions that are quick and hang on nothing but the rows of their
// SELECT. Without the others there are more rows.
type plain struct {
	own     map[*query.Table]bool
	sure    map[*query.Table]bool // those of own with the same rows as with all conditions
	moments bool                  // rows are read at the moments of others
	from    *query.Table          // is found by this instead of an outer row
	by      query.Expr
}

func newPlain(from *query.Table) *plain {
	p := &plain{own: map[*query.Table]bool{}, sure: map[*query.Table]bool{}}
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

// addSure adds a table and what is joined to it, but no LEFT JOIN that lacks conditions
// of its ON: it has a row where there would be none.
func (p *plain) addSure(t *query.Table, e *emitter) {
	p.sure[t] = true
	for _, j := range t.Joins {
		if !j.Left || p.has(e.flatten(j.On)...) {
			p.addSure(j, e)
		}
	}
}

// has reports whether conditions are plain.
func (p *plain) has(on ...query.Expr) bool {
	return !slices.ContainsFunc(on, func(x query.Expr) bool { return !isPlain(x, p.own) })
}

// key is what a table is found by.
func (p *plain) key(t *query.Table) query.Expr {
	if t == p.from {
		return p.by
	}
	return t.Key
}

// only keeps the plain ones of the conditions of a table.
func (p *plain) only(list []query.Expr) []query.Expr { return p.kept(list, p.own) }

// where keeps the plain ones of the conditions of the SELECT that read sure rows.
func (p *plain) where(list []query.Expr) []query.Expr { return p.kept(list, p.sure) }

// kept are the conditions that are plain and read some tables alone. That something has
// the type of an outer row becomes that it has one of the types of such rows.
func (p *plain) kept(list []query.Expr, tables map[*query.Table]bool) []query.Expr {
	var kept []query.Expr
	for _, x := range list {
		if c, ok := x.(query.Compare); ok {
			if up, ok := c.R.(query.ColumnOf); ok && !p.own[up.T] {
				x = ofTypes([]query.Expr{x}, up.T)[0]
			}
		}
		if isPlain(x, tables) {
			kept = append(kept, x)
		}
	}
	return kept
}

// isPlain reports whether a condition is plain and reads some tables alone.
func isPlain(x query.Expr, tables map[*query.Table]bool) bool {
	v := &plainness{own: tables}
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
