package query

import (
	"reflect"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// cond plans a condition on a row of t.
func (l *level) cond(t *Table, c Cond) Expr {
	if c.saysRight() && l.all {
		return l.cond(t, c.Kids[0])
	}
	switch {
	case c.Right != nil:
		return l.right(t, c.Right)
	case c.Op == token.And:
		var all All
		for _, k := range gathered(c.Kids, token.Ne) {
			all = append(all, l.cond(t, k))
		}
		return all
	case c.Op == token.Or:
		var alts Any
		for _, k := range gathered(c.Kids, token.Eq) {
			alts = append(alts, l.cond(t, k))
		}
		return alts
	}
	return l.term(t, c.Term)
}

// gathered merges comparisons of the same path into one comparison with several values. "Equals a
// or equals b" becomes one test for a and b. "Differs from a and differs from b" also becomes one
// test. The server then searches for all values at once.
func gathered(conds []Cond, test token.Test) []Cond {
	var list []Cond
	of := map[string]int{} // by the text of a path: the index of its comparison in list
	for _, c := range conds {
		if c.Right != nil || c.Op != token.Leaf || c.Term.Test != test {
			list = append(list, c)
			continue
		}
		at, ok := of[c.Term.Path.Text]
		if !ok || !reflect.DeepEqual(list[at].Term.Path, c.Term.Path) {
			of[c.Term.Path.Text] = len(list)
			list = append(list, c)
			continue
		}
		list[at].Term.Values = slices.Concat(list[at].Term.Values, c.Term.Values)
	}
	return list
}

// term plans one comparison. A negated comparison also holds if there is no value.
func (l *level) term(t *Table, tm Term) Expr {
	var negated bool
	tm.Test, negated = tm.Test.Positive()
	x := l.test(t, tm, tm.Path.Steps)
	if tm.Path.Only != nil {
		is := isOf(t, tm.Path.Only)
		if tm.Test == token.Eq && hasNoValue(tm.Values) {
			x = Any{negate(is), x}
		} else {
			x = All{is, x}
		}
	}
	if negated {
		return negate(x)
	}
	return x
}

func hasNoValue(values []Value) bool {
	return slices.ContainsFunc(values, func(v Value) bool { return v.Kind == NoValue })
}

// test plans a comparison that is not negated. steps are the steps of its path that start at t.
func (l *level) test(t *Table, tm Term, steps []Step) Expr {
	if tm.Path.Agg != None {
		return l.aggregateTest(t, tm)
	}
	if len(steps) == 0 {
		return l.leafTest(t, tm)
	}
	s, rest := steps[0], steps[1:]
	if isIdentity(s) {
		return l.test(t, tm, rest)
	}
	if len(rest) == 0 && tm.Path.IsRelation() {
		if x := l.foreignKey(t, s); x != nil {
			return l.assetTest(x, s.To, tm)
		}
	}
	if by := l.lookup(t, tm, steps); by != nil {
		return InLookup{ColumnOf{t, s.Attr.Place.Column}, by, l.test(l.join(t, s), tm, rest)}
	}
	if !s.Attr.Multi && !l.flat {
		return l.test(l.join(t, s), tm, rest)
	}
	return l.existsRelated(t, tm, s, rest)
}

// lookup recognizes the condition that a row is in a scope at or below named scopes, such as
// Scope.ParentMeAndUp='Scope:0'. It returns the statement that finds these scopes. It returns nil
// for any other condition.
func (l *level) lookup(t *Table, tm Term, steps []Step) *Lookup {
	if t != l.top || tm.Test != token.Eq || len(steps) != 2 || !tm.Path.IsRelation() || hasNoValue(tm.Values) {
		return nil
	}
	to, up := steps[0], steps[1]
	of := up.Attr.Place
	isScope := to.Attr.Place.Kind == meta.InColumn && to.Attr.Place.Column == "scope_id" && to.Only == nil && to.Types == nil && to.Filter == nil
	if !isScope || of.Kind != meta.Closure || of.Closure.Up.On.Name != "Scope" || up.Only != nil || up.Filter != nil || condUsesContext(Cond{Term: tm}) {
		return nil
	}
	scope, inner := &Table{Kind: Asset, Of: to.To.Concrete}, l.subquery()
	l.visible(scope)
	by := &Lookup{}
	last := inner.extend(&by.Select, scope, up, true)
	by.Where = append(by.Where, inner.test(last, tm, nil))
	found := by.From.Key.(Compare).L
	by.From.Key, scope.Key = nil, Compare{"=", scope.id(), found}
	by.From.Joins = append(by.From.Joins, scope)
	by.Cells = []Expr{found}
	l.lookups = append(l.lookups, by)
	return by
}

// existsRelated returns the condition that a related asset satisfies the rest of the comparison. If
// there is no related asset, the path has no value, so a comparison with NoValue holds.
func (l *level) existsRelated(t *Table, tm Term, s Step, rest []Step) Expr {
	none := func() Expr {
		sel := &Select{Cells: []Expr{Num{1}}, Once: true}
		l.subquery().extend(sel, t, s, true)
		return Exists{sel, true}
	}
	wantsNone := tm.Test == token.Eq && hasNoValue(tm.Values)
	if wantsNone && len(rest) == 0 && tm.Path.IsRelation() {
		tm.Values = slices.DeleteFunc(slices.Clone(tm.Values), func(v Value) bool { return v.Kind == NoValue })
		if len(tm.Values) == 0 {
			return none()
		}
	}
	sel := &Select{Cells: []Expr{Num{1}}, Once: true}
	inner := l.subquery()
	last := inner.extend(sel, t, s, true)
	if sel.From.Kind == Tree && len(rest) == 0 {
		sel.From.Ends = givenIDs(tm)
	}
	if tm.Test != token.Has && tm.Test != token.Holds || len(rest) > 0 || !tm.Path.IsRelation() {
		sel.Where = append(sel.Where, inner.test(last, tm, rest))
	}
	if wantsNone {
		return Any{Exists{sel, false}, none()}
	}
	return Exists{sel, false}
}

// givenIDs returns the ids of the assets that an equality names; nil for any other comparison.
func givenIDs(tm Term) []int64 {
	var ids []int64
	if tm.Test != token.Eq || !tm.Path.IsRelation() {
		return nil
	}
	for _, v := range tm.Values {
		if v.Kind != RefOf {
			return nil
		}
		ids = append(ids, v.Int)
	}
	return ids
}

// aggregateTest compares an aggregate. A count that is only tested for zero becomes an
// existence test, which is cheaper.
func (l *level) aggregateTest(t *Table, tm Term) Expr {
	if some, ok := asksForAny(tm); ok {
		if s, ok := l.aggregate(t, tm.Path, false).(Scalar); ok {
			s.S.Cells = []Expr{Num{1}}
			return Exists{s.S, !some}
		}
	}
	return compare(l.value(t, tm.Path, false), tm.Path.Kind(), tm)
}

// asksForAny recognizes comparisons of @Count with zero. some is true if the count must be
// positive, and false if it must be zero. ok is false for any other comparison.
func asksForAny(tm Term) (some, ok bool) {
	if tm.Path.Agg != Count || !tm.Path.countsAssets() || len(tm.Values) != 1 || tm.Values[0].Kind != NumOf {
		return false, false
	}
	switch n := tm.Values[0].Num; {
	case tm.Test == token.Gt && n == 0, tm.Test == token.Ge && n == 1:
		return true, true
	case tm.Test == token.Eq && n == 0, tm.Test == token.Lt && n == 1, tm.Test == token.Le && n == 0:
		return false, true
	}
	return false, false
}

// countsAssets reports whether the path ends in the assets of a to-many relation. The @Count of
// such a path is the number of rows.
func (p Path) countsAssets() bool {
	n := len(p.Steps)
	return p.Leaf == Leaf{} && n > 0 && p.Steps[n-1].Attr.Multi
}

// leafTest plans a comparison of a value of t itself, without further steps.
func (l *level) leafTest(t *Table, tm Term) Expr {
	leaf := tm.Path.Leaf
	switch {
	case leaf.Cond != nil:
		return l.boolTest(t, tm)
	case leaf == Leaf{}:
		return l.assetTest(t.id(), tm.Path.To(), tm)
	case leaf.Attr != nil && leaf.Attr.Multi:
		return l.valuesTest(t, tm)
	}
	return compare(l.leaf(t, leaf, false), tm.Path.Kind(), tm)
}

// boolTest compares a Boolean that a condition computes. The Boolean is null only if t has no row.
func (l *level) boolTest(t *Table, tm Term) Expr {
	there := All{}
	if t.Left {
		there = All{IsNull{ColumnOf{t, "id"}, true}}
	}
	holds := func() Expr { return append(slices.Clone(there), l.cond(t, *tm.Path.Leaf.Cond)) }
	switch tm.Test {
	case token.Has:
		return there
	case token.Holds:
		return holds()
	}
	var alts Any
	for _, v := range tm.Values {
		switch {
		case v.Kind == BoolOf && v.Int == 1:
			alts = append(alts, holds())
		case v.Kind == BoolOf:
			alts = append(alts, append(slices.Clone(there), negate(l.cond(t, *tm.Path.Leaf.Cond))))
		case v.Kind == NoValue && t.Left:
			alts = append(alts, negate(there[0]))
		}
	}
	return oneOrAny(alts)
}

// valuesTest compares a multi-value scalar. One of its values must satisfy the comparison.
func (l *level) valuesTest(t *Table, tm Term) Expr {
	some := func(test bool) *Select {
		v := l.valuesTable(t, tm.Path.Leaf.Attr)
		sel := &Select{From: v, Cells: []Expr{Num{1}}}
		if test {
			sel.Where = []Expr{compare(valueOf(v, tm.Path.Kind()), tm.Path.Kind(), tm)}
		}
		return sel
	}
	if tm.Test == token.Has || tm.Test == token.Holds {
		return Exists{some(false), false}
	}
	if tm.Test == token.Eq && hasNoValue(tm.Values) {
		return Any{Exists{some(true), false}, Exists{some(false), true}}
	}
	return Exists{some(true), false}
}

// assetTest plans a comparison of x, the id of an asset of the type in the parameter to, with the
// assets in a term.
func (l *level) assetTest(x Expr, to *meta.Type, tm Term) Expr {
	if tm.Test == token.Has || tm.Test == token.Holds {
		return IsNull{x, true}
	}
	var alts Any
	var ids []Expr
	stored := map[*meta.Type]int{} // by type: the index in alts of the condition with the ids of this type
	for _, v := range tm.Values {
		switch {
		case v.Kind == RefOf && len(to.Concrete) > 1 && len(tm.Values) > maxListed:
			at, ok := stored[v.Type]
			if !ok {
				at, stored[v.Type] = len(alts), len(alts)
				alts = append(alts, InIDsOfType{X: x, Types: v.Type.Concrete})
			}
			of := alts[at].(InIDsOfType)
			of.IDs = append(of.IDs, v.arg())
			alts[at] = of
		case v.Kind == NoValue:
			alts = append(alts, IsNull{x, false})
		case v.Kind == ContextOf:
			alts = append(alts, Compare{"=", x, ColumnOf{l.row, "id"}})
		case len(to.Concrete) == 1:
			ids = append(ids, v.arg())
		default:
			ids = append(ids, IDOfType{v.arg(), v.Type.Concrete})
		}
	}
	return oneOrAny(append(oneOf(x, ids), alts...))
}
