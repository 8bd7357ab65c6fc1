package memfilter

import (
	"slices"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/token"
)

// Filter is what a definition asks of an asset, prepared for an answer from
// versions in memory: those of the asset and of the assets its columns name.
// What cannot be answered there is left to SQL; what is answered is what SQL
// would say.
type Filter struct {
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

// New prepares the filters and variables of a definition over assets of from; nil when memory cannot answer any part of it.
// context tells that it is evaluated as a member sees the data.
func New(m *meta.Model, from *meta.Type, filters []string, with map[string][]string, context bool) *Filter {
	r := query.Request{From: query.Text{Text: from.Name}, With: with}
	for _, f := range filters {
		r.Filter = append(r.Filter, query.Text{Text: f})
	}
	b, err := query.Bind(m, r)
	if err != nil {
		return nil
	}
	y := &Filter{self: linkOf(m, from.Concrete)}
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
func (y *Filter) node(m *meta.Model, n *node, c *query.Cond, context bool) (some bool) {
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

// mostValues is how many values a term may have that is compared with one after
// the other; a database searches more of them sooner.
const mostValues = 500

func newLeaf(m *meta.Model, t *query.Term) *leaf {
	f := &leaf{term: t, test: t.Test, only: t.Path.Only}
	switch t.Test {
	case token.Ne:
		f.test, f.negated = token.Eq, true
	case token.Lacks:
		f.test, f.negated = token.Has, true
	}
	if len(t.Values) > mostValues {
		return nil
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
	if a.Multi || a.Place.Kind != meta.InColumn || a.Place.Slot < 0 || s.Filter != nil || s.Now || s.Types != nil {
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
