package webhook

import (
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/token"
)

// answer is what memory knows of a filter: yes, no, or that SQL must say.
type answer uint8

const (
	unsure answer = iota
	no
	yes
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

func (a answer) not() answer {
	switch a {
	case yes:
		return no
	case no:
		return yes
	default:
		return unsure
	}
}

// memory is what a definition asks of an asset, prepared for an answer from
// versions in memory: those of the asset and of the assets its columns name.
// What cannot be answered there is left to SQL; what is answered is what SQL
// would say.
type memory struct {
	root *node // nil: no filter
	self link  // who sees the asset itself
	hops []int // slots of the relations whose assets it looks at
}

// node is a condition: a term, or others joined by op.
type node struct {
	op   token.Op
	kids []node
	leaf *leaf // nil: a term that SQL must answer
}

// leaf is a term that compares what lies in the row of the asset or of one that
// a column of it names.
type leaf struct {
	term    *query.Term
	test    token.Test // positive
	negated bool
	only    []*meta.Type // the types that have the attribute; nil for all
	hop     *link        // the relation followed; nil: the asset's own row
	slot    int          // of the value compared; -1: the state
	flag    bool         // the value is a Boolean
	to      *link        // the value is this relation's; nil for other values
	looks   bool         // what the value names must be looked at, whoever asks
}

// link is a relation to at most one asset, and who sees what it leads to.
type link struct {
	slot    int          // of the column with the id
	only    []*meta.Type // the related types wanted; nil for all
	scope   int          // slot of the scope that decides who sees it
	secured bool         // assets in scopes the member does not read are hidden
	strict  bool         // and so are those without a scope
}

// newMemory prepares a definition; nil when memory cannot answer any part of it.
// context tells that it is evaluated as a member sees the data.
func newMemory(m *meta.Model, from *meta.Type, filters []string, with map[string][]string, context bool) *memory {
	r := query.Request{From: query.Text{Text: from.Name}, With: with}
	for _, f := range filters {
		r.Filter = append(r.Filter, query.Text{Text: f})
	}
	b, err := query.Bind(m, r)
	if err != nil {
		return nil
	}
	y := &memory{self: linkOf(m, from.Concrete)}
	some := context && y.self.secured
	if b.Filter != nil {
		y.root = &node{}
		some = y.node(m, y.root, b.Filter, context) || some
	} else {
		some = context
	}
	if !some {
		return nil
	}
	return y
}

// node prepares a condition and reports whether memory can answer some term.
func (y *memory) node(m *meta.Model, n *node, c *query.Cond, context bool) (some bool) {
	n.op = c.Op
	if c.Op == token.Leaf {
		n.leaf = newLeaf(m, &c.Term)
		if n.leaf == nil {
			return false
		}
		if slot := n.leaf.needs(context); slot >= 0 && !slices.Contains(y.hops, slot) {
			y.hops = append(y.hops, slot)
		}
		return true
	}
	n.kids = make([]node, len(c.Kids))
	for i := range c.Kids {
		some = y.node(m, &n.kids[i], &c.Kids[i], context) || some
	}
	return some
}

func newLeaf(m *meta.Model, t *query.Term) *leaf {
	f := &leaf{term: t, test: t.Test, only: t.Path.Only}
	switch t.Test {
	case token.Ne:
		f.test, f.negated = token.Eq, true
	case token.Lacks:
		f.test, f.negated = token.Has, true
	}
	steps, a := t.Path.Steps, t.Path.Leaf.Attr
	if t.Path.IsRelation() && len(steps) > 0 {
		last := &steps[len(steps)-1]
		steps, a = steps[:len(steps)-1], last.Attr
		if f.to = newLink(m, last); f.to == nil {
			return nil
		}
		several := len(last.To.Concrete) > 1 && slices.ContainsFunc(t.Values, func(v query.Value) bool { return v.Kind == query.RefOf })
		f.looks = several || last.Only != nil
	}
	switch {
	case t.Path.Agg != query.None, len(steps) > 1, a == nil, a.Multi, a.Place.Kind != meta.InColumn:
		return nil
	case a.Place.Slot < 0 && a.Kind != meta.State, a.Place.Slot >= 0 && m.Columns[a.Place.Slot].Kind == meta.Long:
		return nil
	}
	f.slot, f.flag = a.Place.Slot, a.Kind == meta.Boolean
	if len(steps) == 1 {
		if f.hop = newLink(m, &steps[0]); f.hop == nil || f.looks {
			return nil
		}
	}
	return f
}

// newLink prepares a relation; nil when it is not one column of a row.
func newLink(m *meta.Model, s *query.Step) *link {
	a := s.Attr
	if a.Multi || a.Place.Kind != meta.InColumn || a.Place.Slot < 0 || s.Filter != nil || s.Now {
		return nil
	}
	types := s.To.Concrete
	if s.Only != nil {
		types = s.Only
	}
	l := linkOf(m, types)
	l.slot, l.only = a.Place.Slot, s.Only
	return &l
}

func linkOf(m *meta.Model, to []*meta.Type) link {
	l := link{scope: slices.IndexFunc(m.Columns, func(c meta.Column) bool { return c.Name == "scope_id" })}
	l.secured, l.strict = query.Secured(to)
	return l
}

// needs is the slot of the relation whose assets a term looks at; -1 for none.
func (f *leaf) needs(context bool) int {
	switch {
	case f.hop != nil:
		return f.hop.slot
	case f.to != nil && (f.looks || context && f.to.secured):
		return f.to.slot
	}
	return -1
}

// view is what memory looks at to decide.
type view struct {
	now  *change.Version
	near near        // the assets around it
	who  *auth.Actor // nil: whose rights count is not known yet
}

// decide says whether the member sees the asset and the filter holds.
func (y *memory) decide(v view) answer {
	seen := y.self.sees(v.who, v.now)
	if y.root == nil || seen == no {
		return seen
	}
	if got := y.root.holds(v); got != yes {
		return got
	}
	return seen
}

// sees says whether a member sees a version that the link leads to.
func (l *link) sees(who *auth.Actor, v *change.Version) answer {
	switch {
	case !l.secured:
		return yes
	case who == nil:
		return unsure
	case who.All:
		return yes
	}
	id, ok := v.Columns[l.scope].(int64)
	if !ok {
		return answerOf(!l.strict)
	}
	_, reads := slices.BinarySearch(who.Scopes, id)
	return answerOf(reads)
}

// holds evaluates a condition.
func (n *node) holds(v view) answer {
	switch {
	case n.op == token.And:
		return join(n.kids, v, no)
	case n.op == token.Or:
		return join(n.kids, v, yes)
	case n.leaf == nil:
		return unsure
	}
	f := n.leaf
	got := unsure
	if f.only != nil && !slices.Contains(f.only, v.now.Type) { // the attribute is not of this type
		got = answerOf(f.test == token.Eq && slices.ContainsFunc(f.term.Values, isNothing))
	} else {
		got = f.holds(v)
	}
	if f.negated {
		return got.not()
	}
	return got
}

// join joins what is known of conditions; end is the answer of one that answers
// for all.
func join(kids []node, v view, end answer) answer {
	got := end.not()
	for i := range kids {
		switch kids[i].holds(v) {
		case end:
			return end
		case unsure:
			got = unsure
		}
	}
	return got
}

// holds answers the positive term.
func (f *leaf) holds(v view) answer {
	row := v.now
	if f.hop != nil {
		var known bool
		if row, known = f.hop.follow(row, v); !known {
			return unsure
		}
	}
	var value any
	switch {
	case row == nil:
	case f.slot < 0:
		value = row.State
	default:
		value = row.Columns[f.slot]
	}
	var to *meta.Type
	if f.to != nil && value != nil && (f.looks || f.to.secured && (v.who == nil || !v.who.All)) {
		if f.hop != nil { // a second relation on
			return unsure
		}
		related, known := f.to.follow(row, v)
		switch {
		case !known:
			return unsure
		case related == nil:
			value = nil
		default:
			to = related.Type
		}
	}
	return f.compare(value, to)
}

// follow returns the asset that a relation of a version names, as it was at the
// moment looked at and as the member sees it: nil for none.
func (l *link) follow(from *change.Version, v view) (to *change.Version, known bool) {
	id, ok := from.Columns[l.slot].(int64)
	if !ok {
		return nil, true
	}
	to, known = v.near.at(id, v.now.Moment)
	switch {
	case !known || to == nil:
		return nil, known
	case l.only != nil && !slices.Contains(l.only, to.Type):
		return nil, true
	}
	switch l.sees(v.who, to) {
	case no:
		return nil, true
	case unsure:
		return nil, false
	default:
		return to, true
	}
}

func isNothing(v query.Value) bool { return v.Kind == query.NoValue }

// compare compares a value: any of the term's values may fit. to is the type of
// the asset that a relation names, where it is known.
func (f *leaf) compare(value any, to *meta.Type) answer {
	switch f.test {
	case token.Has:
		return present(value)
	case token.Holds:
		if f.flag {
			return unsure
		}
		return present(value)
	}
	got := no
	for i := range f.term.Values {
		switch f.fits(value, to, &f.term.Values[i]) {
		case yes:
			return yes
		case unsure:
			got = unsure
		}
	}
	return got
}

// present answers whether there is a value: empty text is none, and so is text
// that sorts like it.
func present(value any) answer {
	if text, ok := value.(string); ok {
		return answerOf(db.Compare(text, "") != 0)
	}
	return answerOf(value != nil)
}

func (f *leaf) fits(value any, to *meta.Type, want *query.Value) answer {
	if want.Kind == query.NoValue && f.test == token.Eq {
		return present(value).not()
	}
	if value == nil {
		return no
	}
	switch have := value.(type) {
	case string:
		return f.fitsText(have, want)
	case int64:
		return f.fitsInt(have, to, want)
	case float64:
		switch want.Kind {
		case query.NumOf:
			return ordered(f.test, have, want.Num)
		case query.IntOf:
			return ordered(f.test, have, float64(want.Int))
		}
	}
	return unsure
}

// fitsText compares as the databases do.
func (f *leaf) fitsText(have string, want *query.Value) answer {
	switch {
	case want.Kind != query.TextOf:
		return unsure
	case f.test == token.Like:
		return answerOf(db.Like(have, want.Text, '|'))
	case f.test == token.Eq && have == want.Text:
		return yes
	}
	return ordered(f.test, db.Compare(have, want.Text), 0)
}

func (f *leaf) fitsInt(have int64, to *meta.Type, want *query.Value) answer {
	switch want.Kind {
	case query.RefOf:
		switch {
		case f.test != token.Eq:
			return unsure
		case have != want.Int:
			return no
		case to != nil:
			return answerOf(slices.Contains(want.Type.Concrete, to))
		case f.looks:
			return unsure
		}
		return yes
	case query.IntOf:
		return ordered(f.test, have, want.Int)
	case query.NumOf:
		return ordered(f.test, float64(have), want.Num)
	}
	return unsure
}

func ordered[T int | int64 | float64](test token.Test, have, want T) answer {
	switch test {
	case token.Eq:
		return answerOf(have == want)
	case token.Lt:
		return answerOf(have < want)
	case token.Le:
		return answerOf(have <= want)
	case token.Gt:
		return answerOf(have > want)
	case token.Ge:
		return answerOf(have >= want)
	}
	return unsure
}
