package query

import (
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// usesContext reports whether a filter of the steps has "$", which refers to the asset of the row.
func usesContext(steps []Step) bool {
	for _, s := range steps {
		if s.Filter != nil && condUsesContext(*s.Filter) {
			return true
		}
	}
	return false
}

func condUsesContext(c Cond) bool {
	for _, k := range c.Kids {
		if condUsesContext(k) {
			return true
		}
	}
	for _, v := range c.Term.Values {
		if v.Kind == ContextOf {
			return true
		}
	}
	return usesContext(c.Term.Path.Steps)
}

// extend follows a step inside a sub-select or branch and returns the table of the related assets.
// If list is false, a to-one relation after the first table becomes an outer join.
func (l *level) extend(sel *Select, from *Table, s Step, list bool) *Table {
	if !s.Attr.Multi && sel.From != nil && !list {
		return l.join(from, s)
	}
	first, last := l.hop(from, s, list)
	l.count(first)
	if sel.From == nil {
		sel.From = first
	} else {
		from.Joins = append(from.Joins, first)
	}
	if s.Filter != nil {
		sel.Where = append(sel.Where, l.cond(last, *s.Filter))
	}
	return last
}

// steps joins along to-one relations and returns the last table.
func (l *level) steps(t *Table, steps []Step) *Table {
	for _, s := range steps {
		t = l.join(t, s)
	}
	return t
}

// join returns the table of a to-one relation. It joins the table, unless the level has joined it
// already. A step with a filter always gets its own table.
func (l *level) join(from *Table, s Step) *Table {
	if isIdentity(s) {
		return from
	}
	key := hopKey{from, s.Attr, s.To, s.Now, s.All}
	if t, ok := l.joins.made[key]; ok && s.Filter == nil {
		return t
	}
	first, last := l.hop(from, s, false)
	l.count(first)
	for t := first; ; t = t.Joins[0] {
		t.Left = true
		if t == last {
			break
		}
	}
	from.Joins = append(from.Joins, first)
	if s.Filter != nil {
		flat := *l
		flat.flat = true
		last.On = append(last.On, flat.cond(last, *s.Filter))
		return last
	}
	l.joins.made[key] = last
	return last
}

// isIdentity reports whether a step goes from an asset to itself.
func isIdentity(s Step) bool {
	return s.Attr.Place.Kind == meta.System && s.Attr.Name == "ID" && s.Only == nil && s.Filter == nil && !s.Now
}

// hop makes the tables of one step but does not join them yet. If list is true, deleted assets of a
// to-many relation are excluded, unless the step includes them.
func (l *level) hop(from *Table, s Step, list bool) (first, last *Table) {
	last = &Table{Kind: Asset, Of: s.types(), Typed: s.Only != nil, When: when(from, s.Now)}
	first = l.connect(from, last, s)
	if s.Types != nil {
		first.On = append(first.On, isOf(from, s.Types))
	}
	if !s.All && !leadsToOwnScope(from, s) {
		l.visible(last)
	}
	if list && s.Attr.Multi && !s.Deleted {
		last.On = append(last.On, notDeleted(last)...)
	}
	return first, last
}

// leadsToOwnScope reports whether a step goes from a row to its scope, and the statement checks
// that the member sees the row. Then the member also sees the scope, because the scope decides who
// sees the row.
func leadsToOwnScope(from *Table, s Step) bool {
	return s.Attr.Place.Kind == meta.InColumn && s.Attr.Place.Column == "scope_id" &&
		slices.ContainsFunc(from.On, func(x Expr) bool { v, ok := x.(Visible); return ok && v.T == from })
}

// types returns the concrete types of the assets that a step reaches.
func (s Step) types() []*meta.Type {
	switch {
	case s.Only != nil:
		return s.Only
	case s.To == s.Attr.Related:
		return s.Attr.TargetTypes()
	}
	return s.To.Concrete
}

// when returns the time at which a table is read that is joined to the table from. If the parameter
// now is true, the table is read as it is now.
func when(from *Table, now bool) When {
	switch {
	case now:
		return When{}
	case from.When.Mode == Version:
		return When{Mode: Each, Base: from}
	}
	return from.When
}

// connect sets the conditions that join the table last to the table from by a step. It returns the
// first table of the step: last itself, or a table between the two.
func (l *level) connect(from, last *Table, s Step) *Table {
	at := s.Attr.Place
	id, then := from.id(), when(from, false)
	switch at.Kind {
	case meta.InColumn:
		last.Key = Compare{"=", ColumnOf{last, "id"}, ColumnOf{from, at.Column}}
		return last
	case meta.Reverse:
		return l.reverse(from, last, s)
	case meta.InLinks:
		return through(last, &Table{Kind: Link, When: then}, "from_id", id, "to_id", fromType(from), s.codes())
	case meta.InLinksBack:
		return through(last, &Table{Kind: Link, When: then}, "to_id", id, "from_id", nil, s.codes())
	case meta.Closure:
		return l.closure(from, last, at.Closure)
	case meta.System:
		return l.systemStep(from, last, s)
	}
	l.fail("%s cannot be followed", s.Attr.Token())
	last.Key = Compare{"=", ColumnOf{last, "id"}, id}
	return last
}

// reverse follows a to-one relation backwards. The relation is read at the time of the table from,
// not at the time of the related asset.
func (l *level) reverse(from, last *Table, s Step) *Table {
	column, then := s.Attr.Back.Place.Column, when(from, false)
	if last.When == then {
		last.Typed = true
		last.Key = Compare{"=", ColumnOf{last, column}, from.id()}
		return last
	}
	return through(last, &Table{Kind: Asset, Of: last.Of, Typed: true, When: then}, column, from.id(), "id")
}

// id returns the expression for the id of a row of t. If t is joined only by its id, this is the
// column that equals the id. The statement may then not need t.
func (t *Table) id() Expr {
	if key, ok := t.Key.(Compare); ok && t.Left && len(t.On) == 0 && !t.Typed && key.L == (ColumnOf{t, "id"}) {
		if r, isColumn := key.R.(ColumnOf); isColumn {
			return r
		}
	}
	return ColumnOf{t, "id"}
}

// code returns a function that makes the condition that a column of a table equals n, a number of
// the model.
func code(column string, n int) func(*Table) Expr {
	return func(t *Table) Expr { return Compare{"=", ColumnOf{t, column}, Num{int64(n)}} }
}

// codes returns a function that makes the condition that a row of a link table belongs to the
// relation.
func (s Step) codes() func(*Table) Expr {
	all := map[int]bool{s.Attr.Place.Code: true}
	for _, a := range s.Of {
		all[a.Place.Code] = true
	}
	if len(all) == 1 {
		return code("relation", s.Attr.Place.Code)
	}
	in := In{}
	for _, c := range slices.Sorted(maps.Keys(all)) {
		in.List = append(in.List, Num{int64(c)})
	}
	return func(t *Table) Expr { return In{X: ColumnOf{t, "relation"}, List: in.List} }
}

// through joins the table last by a table of pairs. It returns the table of pairs. In a pair, the
// column that the parameter from names equals id. The column that to names equals the id of last.
func through(last, pairs *Table, from string, id Expr, to string, conds ...func(*Table) Expr) *Table {
	pairs.Key = Compare{"=", ColumnOf{pairs, from}, id}
	for _, c := range conds {
		if c != nil {
			pairs.On = append(pairs.On, c(pairs))
		}
	}
	last.Key = Compare{"=", ColumnOf{last, "id"}, ColumnOf{pairs, to}}
	pairs.Joins = []*Table{last}
	return pairs
}

// fromType returns a function that makes the condition on the column from_type. In the indexes of
// links and values, from_type comes before from_id.
func fromType(from *Table) func(*Table) Expr {
	return func(t *Table) Expr {
		x := ColumnOf{t, "from_type"}
		if len(from.Of) == 1 {
			return Compare{"=", x, Num{int64(from.Of[0].Code)}}
		}
		if !from.omitted {
			return Compare{"=", x, ColumnOf{from, "type"}}
		}
		return In{X: x, List: TypeCodes(from.Of)}
	}
}

// TypeCodes returns the stored codes of types.
func TypeCodes(types []*meta.Type) []Expr {
	var list []Expr
	for _, t := range types {
		list = append(list, Num{int64(t.Code)})
	}
	return list
}

// valuesTable returns the table of a multi-value scalar of from.
func (l *level) valuesTable(from *Table, a *meta.Attr) *Table {
	v := &Table{Kind: Values, When: when(from, false)}
	v.Key = Compare{"=", ColumnOf{v, "from_id"}, from.id()}
	v.On = []Expr{code("attribute", a.Place.Code)(v), fromType(from)(v)}
	return v
}

// closure follows a hierarchy. The hierarchy of scopes has stored pairs; all other hierarchies are
// followed by recursion.
func (l *level) closure(from, last *Table, c meta.ClosureOf) *Table {
	id, then := from.id(), when(from, false)
	if c.Up.On.Name != "Scope" {
		return through(last, &Table{Kind: Tree, When: then, Tree: &c}, "root", id, "id")
	}
	start, end := "descendant_id", "ancestor_id"
	if c.Down {
		start, end = end, start
	}
	return through(last, &Table{Kind: ScopeTree, When: then}, start, id, end, func(t *Table) Expr {
		return depthOf(ColumnOf{t, "depth"}, c)
	})
}

func depthOf(depth Expr, c meta.ClosureOf) Expr {
	all := All{}
	if !c.Me {
		all = append(all, Compare{">=", depth, Num{1}})
	}
	if !c.Transitive {
		all = append(all, Compare{"<=", depth, Num{1}})
	}
	return all
}

// systemStep follows a relation that the system computes, such as ChangedBy or History.
func (l *level) systemStep(from, last *Table, s Step) *Table {
	by := func(x Expr) { last.Key = Compare{"=", ColumnOf{last, "id"}, x} }
	by(from.id())
	switch s.Attr.Name {
	case "ID":
	case "Now":
		last.When = When{}
	case "CreatedBy", "ChangedBy":
		by(ColumnOf{from, systemRefs[s.Attr.Name]})
	case "ClosedBy":
		by(closing(from, "changed_by"))
	case "RetiredBy":
		by(next(from, "changed_by"))
	case "History":
		last.When, l.past = When{Mode: Version}, true
	case "Prior":
		last.When, l.past = When{Mode: Version}, true
		last.On = append(last.On, Compare{"=", ColumnOf{last, "until_moment"}, ColumnOf{from, "moment"}})
	case "Viewers":
		l.viewers(from, last)
	default:
		l.fail("%s is not supported", s.Attr.Token())
	}
	return last
}
