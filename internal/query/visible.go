package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// visible adds to t the condition that the member sees the row.
func (p *planner) visible(t *Table) {
	if p.all {
		return
	}
	l := &level{planner: p, row: t, joins: newJoins()}
	x := (sight{level: l}).seen(t, nil)
	if both, ok := x.(All); ok && p.bounded {
		t.On = append(t.On, both...)
	} else if x != nil {
		t.On = append(t.On, x)
	}
}

// sight plans the condition that a member sees a row.
type sight struct {
	*level
	by Expr // the id of the member who sees the row; nil: the member who runs the query
}

// seen returns the condition that the member sees a row; nil: everyone sees it. If an access token
// limits what the member reads, the type of the row must be one that the token reads.
func (s sight) seen(t *Table, from []*meta.Seen) Expr {
	x := s.byRule(t, from)
	if x == nil || !s.limited() || !slices.ContainsFunc(t.Of, (*meta.Type).IsOfProjects) {
		return x
	}
	return All{OfReadType{t}, x}
}

// limited reports whether an access token limits what the member sees.
func (s sight) limited() bool { return s.bounded && s.by == nil }

// byRule returns the condition that the member sees a row; nil: everyone sees it. For types with a
// visibility rule in the model (meta.Seen), the condition has one alternative for each rule. The
// parameter from has the rules that led to t; byRule skips types with these rules.
func (s sight) byRule(t *Table, from []*meta.Seen) Expr {
	var plain, ruled []*meta.Type
	var rules [][]*meta.Type
	for _, c := range t.Of {
		if c.Seen.IsZero() {
			plain = append(plain, c)
			continue
		}
		ruled = append(ruled, c)
		if slices.ContainsFunc(from, c.Seen.Same) {
			continue
		}
		i := slices.IndexFunc(rules, func(r []*meta.Type) bool { return r[0].Seen.Same(&c.Seen) })
		if i < 0 {
			rules = append(rules, []*meta.Type{c})
		} else {
			rules[i] = append(rules[i], c)
		}
	}
	if len(ruled) == 0 {
		return s.readable(t, plain)
	}
	var alts Any
	if len(plain) > 0 {
		alts = append(alts, allOf(In{X: ColumnOf{t, "type"}, List: TypeCodes(ruled), Not: true}, s.readable(t, plain)))
	}
	for _, r := range rules {
		x := s.follows(t, r, from)
		if len(r) < len(t.Of) {
			x = allOf(isOf(t, r), x)
		}
		alts = append(alts, x)
	}
	return oneOrAny(alts)
}

// readable returns the condition that rows of the types are in a readable scope; nil if none
// of them has a scope.
func (s sight) readable(t *Table, types []*meta.Type) Expr {
	some, every := Secured(types)
	if !some {
		return nil
	}
	return Visible{t, every, s.by}
}

// follows returns the condition that the member sees rows of types that have the same rule.
func (s sight) follows(t *Table, types []*meta.Type, from []*meta.Seen) Expr {
	rule := &types[0].Seen
	if rule.Shared {
		return SeesMember{ColumnOf{t, "id"}, s.by}
	}
	x := s.through(t, rule.Through, append(slices.Clone(from), rule))
	if some, _ := Secured(types); some {
		x = Any{Visible{t, true, s.by}, allOf(IsNull{ColumnOf{t, "scope_id"}, false}, x)}
	}
	var alts Any
	if !s.limited() { // what belongs to the member personally may be about any project
		for _, w := range rule.By {
			alts = append(alts, s.leadsToViewer(t, w))
		}
	}
	x = oneOrAny(append(alts, x))
	if len(rule.Only) == 0 {
		return x
	}
	alts = nil
	others := All{}
	for _, w := range rule.Only {
		viewer := s.leadsToViewer(t, w)
		if s.limited() {
			viewer = All{viewer, x}
		}
		alts = append(alts, viewer)
		others = append(others, negate(s.leads(t, w, nil)))
	}
	return append(alts, append(others, x))
}

// through uses the first of the paths that reaches any asset. It returns the condition that the
// member sees one of the assets that this path reaches. The condition also holds if no path reaches
// an asset.
func (s sight) through(t *Table, paths []meta.Walk, from []*meta.Seen) Expr {
	if len(paths) == 0 {
		return All{}
	}
	one := s.leads(t, paths[0], func(in *level, to *Table) Expr {
		if x := (sight{in, s.by}).seen(to, from); x != nil {
			return x
		}
		return All{}
	})
	none := negate(s.leads(t, paths[0], nil))
	if len(paths) > 1 {
		none = All{none, s.through(t, paths[1:], from)}
	}
	return Any{one, none}
}

// leadsToViewer returns the condition that a path reaches the member who should see the row.
func (s sight) leadsToViewer(t *Table, w meta.Walk) Expr {
	n := len(w) - 1
	viewer := s.by
	if viewer == nil {
		viewer = ActorID{}
	}
	if column, ok := systemRefs[w[n].Name]; ok && w[n].Place.Kind == meta.System {
		is := func(_ *level, to *Table) Expr { return Compare{"=", ColumnOf{to, column}, viewer} }
		if n == 0 {
			return is(s.level, t)
		}
		return s.leads(t, w[:n], is)
	}
	return s.leads(t, w, func(_ *level, to *Table) Expr { return Compare{"=", ColumnOf{to, "id"}, viewer} })
}

// leads returns the condition that a path reaches an asset that satisfies cond, or any asset
// if cond is nil. The member need not see that asset.
func (l *level) leads(t *Table, w meta.Walk, cond func(*level, *Table) Expr) Expr {
	if len(w) > 1 {
		inner := cond
		cond = func(in *level, to *Table) Expr { return in.leads(to, w[1:], inner) }
	}
	return l.someRelated(t, w[0], cond)
}

// allOf returns the conjunction of conditions. It leaves out conditions that are nil.
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

// Secured reports two facts about the types. some: assets of some types have a scope that decides
// who reads them. every: assets of every type always have such a scope. In that case, an asset
// without a scope is hidden.
func Secured(types []*meta.Type) (some, every bool) {
	every = true
	for _, t := range types {
		s := t.Secured != meta.Secured{}
		some = some || s
		every = every && s && alwaysScoped(t, 0)
	}
	return some, every
}

// alwaysScoped reports whether every asset of a type has a scope, because the relations to the
// scope are required.
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

// NewSight returns a statement that finds the assets of some types that the member sees. The caller
// adds the ids of the assets in question. The only cell is the id.
func NewSight(types []*meta.Type, r Reader) *Select {
	row := &Table{Kind: Asset, Of: types}
	(&planner{bounded: r.Bounded}).visible(row)
	id := ColumnOf{row, "id"}
	return &Select{From: row, Parent: id, Cells: []Expr{id}}
}

// viewers sets the conditions of the table last. Its rows are the members who see a row of the
// table from. The conditions are the same as those for the member who runs the query, and use the
// current rights.
func (l *level) viewers(from, last *Table) {
	viewer := ColumnOf{last, "id"}
	last.Typed = true
	last.Key = Compare{"=", ColumnOf{last, "type"}, Num{int64(last.Of[0].Code)}}
	inner := &level{planner: l.planner, row: from, joins: newJoins()}
	if x := (sight{inner, viewer}).seen(from, nil); x != nil {
		last.On = append(last.On, Any{SeesAll{viewer}, x})
	}
}
