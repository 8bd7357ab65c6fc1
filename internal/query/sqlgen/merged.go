package sqlgen

import (
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/query"
)

// The limits of a page that is merged from the first rows of each of its scopes: the number of
// scopes, and the number of rows of each scope.
const (
	maxMergedScopes = 50
	maxMergedRows   = 1000
)

// pageIDs writes the statement for the ids of a page.
func (w Writer) pageIDs(p *query.Plan) *emitter {
	if e := w.merged(p); e != nil {
		return e
	}
	e := w.emitterOfPage(p)
	e.statement(&p.Select, p.Cells[:query.CellID+1], w.ofPage(p), p.Order)
	e.limit(p.Page)
	return e
}

// merged writes the ids of a page by rank in the scopes that a lookup found. It merges the first
// rows of each scope, which an index keeps in order. Servers would otherwise read and sort all rows
// of the scopes, or read all rows by rank until they have found enough rows in the scopes.
//
// merged returns nil for any other page. It also returns nil if the page has a condition that may
// be faster with another index.
func (w Writer) merged(p *query.Plan) *emitter {
	where := query.Conjuncts(w.ofPage(p))
	at := slices.IndexFunc(where, func(x query.Expr) bool {
		in, ok := x.(query.InLookup)
		return ok && in.By.Known && len(in.By.Found) > 1 && len(in.By.Found) <= maxMergedScopes
	})
	if at < 0 || !allPlain(p, slices.Delete(slices.Clone(where), at, at+1)) || p.Page.After != nil || p.Page.Start+p.Page.Size > maxMergedRows || !sortsByOwn(p, "order_key", "id") {
		return nil
	}
	in := where[at].(query.InLookup)
	cells := []query.Expr{p.Cells[query.CellID]}
	for _, o := range p.Order {
		if o.X != cells[0] {
			cells = append(cells, o.X)
		}
	}
	e := w.emitterOfPage(p)
	before := "SELECT u.id FROM ("
	for i, scope := range in.By.Found {
		where[at] = query.Compare{Op: "=", L: in.X, R: query.Arg{V: scope}}
		e.write(before, "SELECT * FROM (")
		e.statement(&p.Select, cells, where, p.Order)
		e.write(" LIMIT ", query.Arg{V: p.Page.Start + p.Page.Size}, ") u"+strconv.Itoa(i))
		before = " UNION ALL "
	}
	if len(e.commons) > 0 {
		return nil // the common tables would belong to one scope only
	}
	e.write(") u")
	sep := " ORDER BY u."
	for _, o := range p.Order {
		if e.write(sep, o.X.(query.ColumnOf).Name); o.Desc {
			e.write(" DESC")
		}
		sep = ", u."
	}
	e.limit(p.Page)
	return e
}

// allPlain reports whether conditions depend only on the rows of the plan. Conditions on other rows
// may select few rows in all scopes together. It may be faster to find these rows first than to
// merge.
func allPlain(p *query.Plan, where []query.Expr) bool {
	return newPlain(p.From).has(where...)
}

// sortsByOwn reports whether the rows of a plan are sorted by columns of their own: first by
// columns[0], then by any of columns.
func sortsByOwn(p *query.Plan, columns ...string) bool {
	for i, o := range p.Order {
		c, ok := o.X.(query.ColumnOf)
		if !ok || c.T != p.From || !slices.Contains(columns, c.Name) || i == 0 && c.Name != columns[0] {
			return false
		}
	}
	return len(p.Order) > 0
}
