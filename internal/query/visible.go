package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// visible adds the condition that the member sees a row.
func (p *planner) visible(t *Table) {
	if p.all {
		return
	}
	if x := seen(t); x != nil {
		t.On = append(t.On, x)
	}
}

// seen is the condition that the member sees a row; nil: everybody does. The rows of
// types with a rule of their own have one alternative for each rule.
func seen(t *Table) Expr {
	var plain []*meta.Type
	var rules [][]*meta.Type
	for _, c := range t.Of {
		i := slices.IndexFunc(rules, func(r []*meta.Type) bool { return r[0].Seen.Same(&c.Seen) })
		switch {
		case c.Seen.IsZero():
			plain = append(plain, c)
		case i < 0:
			rules = append(rules, []*meta.Type{c})
		default:
			rules[i] = append(rules[i], c)
		}
	}
	if len(rules) == 0 {
		return readable(t, plain)
	}
	var alts Any
	if len(plain) > 0 {
		var ruled []*meta.Type
		for _, r := range rules {
			ruled = append(ruled, r...)
		}
		alts = append(alts, allOf(In{X: ColumnOf{t, "type"}, List: TypeCodes(ruled), Not: true}, readable(t, plain)))
	}
	for _, r := range rules {
		x := follows(t, &r[0].Seen)
		if len(rules) > 1 || len(plain) > 0 {
			x = allOf(isOf(t, r), x)
		}
		alts = append(alts, x)
	}
	return oneOrAny(alts)
}

// readable is the condition that rows of the types lie in a readable scope; nil where
// none of them has one.
func readable(t *Table, types []*meta.Type) Expr {
	some, every := Secured(types)
	if !some {
		return nil
	}
	return Visible{t, every}
}

// follows is the condition that the member sees rows of one rule.
func follows(t *Table, rule *meta.Seen) Expr {
	return SeesMember{ColumnOf{t, "id"}}
}

// allOf joins conditions, of which nil is none.
func allOf(list ...Expr) Expr {
	list = slices.DeleteFunc(list, func(x Expr) bool { return x == nil })
	if len(list) == 1 {
		return list[0]
	}
	return All(list)
}

// Restricted reports whether some members do not see every asset of the types.
func Restricted(types []*meta.Type) bool {
	some, _ := Secured(types)
	return some || slices.ContainsFunc(types, func(t *meta.Type) bool { return !t.Seen.IsZero() })
}

// Secured reports whether assets of some of the types have a scope that decides who
// reads them, and whether assets of every type always have one. In the second case
// an asset without a scope is hidden, too.
func Secured(types []*meta.Type) (some, every bool) {
	every = true
	for _, t := range types {
		s := t.Secured != meta.Secured{}
		some = some || s
		every = every && s && alwaysScoped(t, 0)
	}
	return some, every
}

// alwaysScoped reports whether every asset of a type has a scope: the relations that
// lead to it are required.
func alwaysScoped(t *meta.Type, depth int) bool {
	if t.Secured.Self {
		return true
	}
	via, ok := t.Attr(t.Secured.Via)
	if !ok || !via.Required || depth > MaxNested {
		return false
	}
	return !slices.ContainsFunc(via.TargetTypes(), func(r *meta.Type) bool { return !alwaysScoped(r, depth+1) })
}

// NewSight is the statement that finds the assets of some types that the member sees,
// by their ids. Its only cell is the id.
func NewSight(types []*meta.Type) *Select {
	row := &Table{Kind: Asset, Of: types}
	(&planner{}).visible(row)
	id := ColumnOf{row, "id"}
	return &Select{From: row, Parent: id, Cells: []Expr{id}}
}
