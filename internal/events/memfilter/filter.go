package memfilter

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/token"
)

// Filter is the compiled filter of an event definition.
type Filter struct {
	root      *node // nil: the definition has no filter
	self      link  // decides whether the asset itself is visible; its fields slot and types are not used
	relations []int // slots of the relations whose assets are needed by Evaluate
}

// node is a condition. It is a single term, or several conditions joined by And or Or.
type node struct {
	op   token.Op
	kids []node // the joined conditions; empty if op is Leaf
	leaf *leaf  // the term if op is Leaf; nil: the result of the term is Unknown
}

// leaf is a term that compares a column of the asset or of a related asset.
type leaf struct {
	term      *query.Term
	test      token.Test   // the test of the term; if the term negates it, this is the test without the negation
	negated   bool         // true: the result is the opposite of test
	types     []*meta.Type // types that have the attribute; nil: all types
	hop       *link        // relation to the asset whose column is compared; nil: the asset itself
	slot      int          // slot (index) of the compared column; -1: the state is compared
	boolean   bool         // true: the column is a Boolean
	to        *link        // the relation that is stored in the column; nil: the column is not a relation
	needsType bool         // true: the result depends on the type of the asset to which the relation refers
}

// link is a relation to at most one asset. It also describes who may see that asset.
type link struct {
	slot    int          // slot of the column with the id of the related asset
	types   []*meta.Type // an asset of another type is treated as no asset; nil: all types are allowed
	scope   int          // slot of the column scope_id, which determines who sees the asset
	secured bool         // true: some members do not see every asset of these types
	strict  bool         // true: an asset without a scope is also hidden
	ruled   bool         // true: meta.Type.Seen of some types has a rule about who sees their assets
}

// New compiles the filters and variables of an event definition. The parameter from is the type of
// the assets. The parameter context is true if the definition has a userContext. New returns nil if
// every result would be Unknown, or if the definition has no filter and no userContext.
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

// compile compiles the condition c into n. It reports whether at least one term of c can be
// evaluated in memory.
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

// maxValues is the maximum number of values of a term that is evaluated in memory. The values are
// compared one after the other, so for more values the database is faster.
const maxValues = 500

// newLeaf compiles a term. It returns nil if the result of the term would be Unknown.
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
		f.needsType = several || last.Only != nil
	}
	switch {
	case t.Path.Agg != query.None, len(steps) > 1, a == nil, a.Multi, a.Place.Kind != meta.InColumn:
		return nil
	case a.Place.Slot < 0 && a.Kind != meta.State, a.Place.Slot >= 0 && m.Columns[a.Place.Slot].Kind == meta.Long:
		return nil
	}
	f.slot, f.boolean = a.Place.Slot, a.Kind == meta.Boolean
	if len(steps) == 1 {
		if f.hop = newLink(m, &steps[0]); f.hop == nil || f.needsType {
			return nil
		}
	}
	return f
}

// newLink compiles a relation. It returns nil if the relation is not stored in one column, or
// if the step of the path has a filter or other options.
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

// relation returns the slot of the relation whose assets are needed to evaluate the term. It
// returns -1 if no assets are needed.
func (f *leaf) relation(context bool) int {
	switch {
	case f.hop != nil:
		return f.hop.slot
	case f.to != nil && (f.needsType || context && f.to.secured):
		return f.to.slot
	}
	return -1
}
