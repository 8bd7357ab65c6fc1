package event

import (
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Index holds rules by the types of assets they can match. It must not be changed
// once it is used.
type Index struct {
	*Engine
	created   map[*meta.Type][]*Rule // by concrete type
	changed   map[*meta.Type][]*Rule
	relations memfilter.Relations // those that filters follow

	scope  int                              // the column of the project that an asset is seen by; -1: there is none
	sights map[*meta.Type]*memfilter.Filter // who sees an asset, by concrete type
}

// NewIndex returns an index without rules.
func (e *Engine) NewIndex() *Index {
	x := &Index{Engine: e, created: map[*meta.Type][]*Rule{}, changed: map[*meta.Type][]*Rule{}, relations: memfilter.Relations{}}
	x.scope = slices.IndexFunc(e.Model.Columns, func(c meta.Column) bool { return c.Name == "scope_id" })
	return x
}

// In returns an index of the same rules that reads in a transaction.
func (x *Index) In(tx db.Querier) *Index {
	other := *x
	other.Engine = x.in(tx)
	return &other
}

// Add adds the rule of an event definition. order is its place among those of its
// target. Errors: fault.Invalid for a type or token that the model does not know.
func (x *Index) Add(t *Target, order int, d *Definition) error {
	from, ok := x.Model.Type(d.From)
	if !ok {
		return fault.Invalidf(0, "Unknown AssetType: %s", d.From)
	}
	if err := x.Find.CheckDefinition(d.From, d.Filter, d.Variables(), d.Select, d.Attributes); err != nil {
		return err
	}
	r, err := newRule(x.Model, from, t, order, d)
	if err != nil {
		return err
	}
	byType := x.created
	if d.Type == AssetChanged {
		byType = x.changed
	}
	for _, leaf := range from.Concrete {
		byType[leaf] = append(byType[leaf], r)
	}
	if r.memory != nil {
		x.relations.Add(from, r.memory)
	}
	if r.hasContext && x.sights == nil {
		x.sights = sightsOf(x.Model)
	}
	return nil
}

func sightsOf(m *meta.Model) map[*meta.Type]*memfilter.Filter {
	all := map[*meta.Type]*memfilter.Filter{}
	for _, t := range m.Types {
		if slices.Contains(t.Concrete, t) {
			all[t] = memfilter.New(m, t, nil, nil, true)
		}
	}
	return all
}

// Types returns the concrete types of the assets that some rule can match.
func (x *Index) Types() []*meta.Type {
	all := map[*meta.Type]bool{}
	for _, rules := range []map[*meta.Type][]*Rule{x.created, x.changed} {
		for t := range rules {
			all[t] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b *meta.Type) int { return a.Code - b.Code })
}

// of returns the rules for the type of a version and for its kind of change.
func (x *Index) of(v *change.Version) []*Rule {
	if v.Created == v.Moment {
		return x.created[v.Type]
	}
	return x.changed[v.Type]
}
