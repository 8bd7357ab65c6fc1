package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// byRankUpwards reports whether rows are sorted by rank in ascending order.
func (p *Plan) byRankUpwards() bool {
	return !p.Order[0].Desc && p.Order[0].X == Expr(ColumnOf{p.From, "order_key"})
}

// hasNoRank reports whether assets of a type have no rank.
func hasNoRank(t *meta.Type) bool {
	return !slices.ContainsFunc(t.Attrs, func(a *meta.Attr) bool { return a.Place.Column == "order_key" })
}

// Conjuncts returns the conditions in list, and expands nested conjunctions.
func Conjuncts(list []Expr) []Expr {
	var flat []Expr
	for _, x := range list {
		if all, ok := x.(All); ok {
			flat = append(flat, Conjuncts(all)...)
		} else {
			flat = append(flat, x)
		}
	}
	return flat
}
