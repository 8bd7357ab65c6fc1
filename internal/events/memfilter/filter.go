package memfilter

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/token"
)

// Filter is the compiled filter of an event definition.
type Filter struct {
	root      *node // nil: no filter
	self      link  // visibility of the asset itself
	relations []int // slots of the relations whose assets it needs
}

// node is a condition: a term, or others joined by op.
type node struct {
	op   token.Op
	kids []node
	leaf *leaf // nil: the result is Unknown
}

// leaf is a term that compares a column of the asset or of a related one.
type leaf struct {
	term        *query.Term
	test        token.Test // positive
	negated     bool
	types       []*meta.Type // those that have the attribute; nil for all
	hop         *link        // the relation to the compared row; nil: the asset's own row
	slot        int          // of the compared value; -1: the state
	boolean     bool         // the value is a Boolean
	to          *link        // the relation whose value is compared; nil for other values
	needsTarget bool         // the type of the related asset counts
}

// link is a relation to at most one asset, and the visibility of that asset.
type link struct {
	slot    int          // of the column with the id
	types   []*meta.Type // of the related assets; nil for all
	scope   int          // slot of the scope that decides about visibility
	secured bool         // a member sees assets in its scopes only
	strict  bool         // and none without a scope
	ruled   bool         // some types have a rule of their own who sees their assets
}

// New compiles the filters and variables of a definition over assets of from;
// nil when every result would be Unknown. context tells that a userContext is
// given.
func New(m *meta.Model, from *meta.Type, filters []string, with map[string][]string, context bool) *Filter {
	r := query.Request{From: query.Text{Text: from.Name}, With: with}
	for _, f := range filters {
		r.Filter = append(r.Filter, query.Text{Text: f})
	}
	b, err := query.Bind(m, r)
	if err != nil {
		return nil
	}
	compiled := &Filter{self: linkOf(m, from.Concrete)}
	known := context && compiled.self.secured
	if b.Filter != nil {
		compiled.root = &node{}
		known = compiled.compile(m, compiled.root, b.Filter, context) || known
	} else {
		known = context
	}
	if !known {
		return nil
	}
	return compiled
}

// compile compiles a condition and reports whether some term can be evaluated.
func (f *Filter) compile(m *meta.Model, n *node, c *query.Cond, context bool) (known bool) {
	n.op = c.Op
	if c.Op == token.Leaf {
		n.leaf = newLeaf(m, &c.Term)
		if n.leaf == nil {
			return false
		}
		if slot := n.leaf.relation(context); slot >= 0 && !slices.Contains(f.relations, slot) {
			f.relations = append(f.relations, slot)
		}
		return true
	}
	n.kids = make([]node, len(c.Kids))
	for i := range c.Kids {
		known = f.compile(m, &n.kids[i], &c.Kids[i], context) || known
	}
	return known
}

// maxValues is how many values of a term are compared one after the other; a
// database finds one of more values faster.
const maxValues = 500

func newLeaf(m *meta.Model, t *query.Term) *leaf {
	f := &leaf{term: t, types: t.Path.Only}
	f.test, f.negated = t.Test.Positive()
	if len(t.Values) > maxValues {
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
		f.needsTarget = several || last.Only != nil
	}
	switch {
	case t.Path.Agg != query.None, len(steps) > 1, a == nil, a.Multi, a.Place.Kind != meta.InColumn:
		return nil
	case a.Place.Slot < 0 && a.Kind != meta.State, a.Place.Slot >= 0 && m.Columns[a.Place.Slot].Kind == meta.Long:
		return nil
	}
	f.slot, f.boolean = a.Place.Slot, a.Kind == meta.Boolean
	if len(steps) == 1 {
		if f.hop = newLink(m, &steps[0]); f.hop == nil || f.needsTarget {
			return nil
		}
	}
	return f
}

// newLink compiles a relation; nil when it is not stored in one column.
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
	l.slot, l.types = a.Place.Slot, s.Only
	return &l
}

func linkOf(m *meta.Model, to []*meta.Type) link {
	l := link{scope: slices.IndexFunc(m.Columns, func(c meta.Column) bool { return c.Name == "scope_id" })}
	_, l.strict = query.Secured(to)
	l.secured = query.Restricted(to)
	l.ruled = slices.ContainsFunc(to, func(t *meta.Type) bool { return !t.Seen.IsZero() })
	return l
}

// relation is the slot of the relation whose assets a term needs; -1 for none.
func (f *leaf) relation(context bool) int {
	switch {
	case f.hop != nil:
		return f.hop.slot
	case f.to != nil && (f.needsTarget || context && f.to.secured):
		return f.to.slot
	}
	return -1
}
