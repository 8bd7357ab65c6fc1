package sqlgen

import (
	"slices"

	"github.com/alds-dev/alds/internal/query"
)

// plain selects the plain conditions of a SELECT. These are quick and depend only on rows of the
// SELECT itself. With the plain conditions alone, the SELECT may have more rows.
type plain struct {
	own     map[*query.Table]bool
	sure    map[*query.Table]bool // own tables that have the same rows as with all conditions
	moments bool                  // true: rows are read at the moments of other rows
	from    *query.Table          // this table is found by the condition in the field by, not by an outer row
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

// addSure adds a table and the tables joined to it. It leaves out a LEFT JOIN if some conditions of
// its ON are not plain. Without these conditions, the join may have rows where it should have none.
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

// key returns the condition by which the rows of t are found.
func (p *plain) key(t *query.Table) query.Expr {
	if t == p.from {
		return p.by
	}
	return t.Key
}

// only returns the plain conditions of a table.
func (p *plain) only(list []query.Expr) []query.Expr { return p.kept(list, p.own) }

// where returns the plain conditions of the SELECT that read only sure tables.
func (p *plain) where(list []query.Expr) []query.Expr { return p.kept(list, p.sure) }

// kept returns the conditions that are plain and read only the given tables. A comparison with the
// type of an outer row is replaced by the condition that the value is one of the types of such
// rows.
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

// isPlain reports whether a condition is plain and reads only the given tables.
func isPlain(x query.Expr, tables map[*query.Table]bool) bool {
	v := &plainness{own: tables}
	v.Expr(x)
	return !v.not
}

// plainness visits a condition to decide whether it is plain.
type plainness struct {
	own map[*query.Table]bool
	not bool
}

// Expr visits a part of the condition.
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

// Table visits a table that is read.
func (v *plainness) Table(t *query.Table) { v.not = v.not || !v.own[t] }

// Select visits a nested SELECT.
func (v *plainness) Select(*query.Select) { v.not = true }
