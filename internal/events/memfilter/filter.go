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
	self      link  // only the visibility of the asset itself; slot and types are not used
	relations []int // slots of the relations whose assets Evaluate uses
}

// node is a condition: a single term, or other conditions joined by And or Or.
type node struct {
	op   token.Op
	kids []node // the joined conditions; none if op is Leaf
	leaf *leaf  // the term if op is Leaf; nil: its result is Unknown
}

// leaf is a term that compares a column of the asset or of a related asset.
type leaf struct {
	term      *query.Term
	test      token.Test   // never a negated test
	negated   bool         // the result is the opposite of test
	types     []*meta.Type // types with the attribute; nil: all types
	hop       *link        // relation to the asset whose column is compared; nil: the asset itself
	slot      int          // of the compared column; -1: the state
	boolean   bool         // the column is a Boolean
	to        *link        // relation that the column stores; nil: the column is no relation
	needsType bool         // the result depends on the type of the asset that to refers to
}

// link is a relation to at most one asset. It also says who may see that asset.
type link struct {
	slot    int          // of the column with the id of the related asset
	types   []*meta.Type // the related asset counts only if it has one of these types; nil: all types
	scope   int          // slot of the column scope_id, which decides about visibility
	secured bool         // some members do not see every asset of the types
	strict  bool         // an asset without a scope is hidden, too
	ruled   bool         // some types have a rule about who sees their assets (meta.Type.Seen)
}

// New compiles the filters and variables of an event definition for assets of the type from.
// context is true if the definition has a userContext. New returns nil if every result would
// be Unknown, or if there is neither a filter nor a userContext.
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

// compile compiles a condition c into n. It reports whether at least one term can be evaluated
// in memory.
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

// maxValues is the largest number of values of a term that is evaluated in memory. The values
// are compared one after the other, so the database is faster for more values.
const maxValues = 500

// newLeaf compiles a term. It returns nil if the result would be Unknown.
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

// relation returns the slot of the relation whose assets the term needs, or -1 for none.
func (f *leaf) relation(context bool) int {
	switch {
	case f.hop != nil:
		return f.hop.slot
	case f.to != nil && (f.needsType || context && f.to.secured):
		return f.to.slot
	}
	return -1
}
