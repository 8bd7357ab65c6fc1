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

// Index contains rules by the types of the assets that the rules can match. Add must not be called
// after the first use of the Index.
type Index struct {
	*Engine
	created   map[*meta.Type][]*Rule // rules for AssetCreated, by concrete type
	changed   map[*meta.Type][]*Rule // rules for AssetChanged, by concrete type
	relations memfilter.Relations    // relations that must be loaded to evaluate filters in memory

	// scope is the index of scope_id in meta.Model.Columns, or -1 if there is no such column. The
	// column contains the project that decides who sees an asset.
	scope int
	// sights has, by concrete type, a filter that evaluates whether an actor sees an asset. It is
	// nil if no rule has a userContext.
	sights map[*meta.Type]*memfilter.Filter
}

// NewIndex returns an index without rules.
func (e *Engine) NewIndex() *Index {
	x := &Index{Engine: e, created: map[*meta.Type][]*Rule{}, changed: map[*meta.Type][]*Rule{}, relations: memfilter.Relations{}}
	x.scope = slices.IndexFunc(e.Model.Columns, func(c meta.Column) bool { return c.Name == "scope_id" })
	return x
}

// In returns an index with the same rules. It reads in the transaction tx.
func (x *Index) In(tx db.Querier) *Index {
	other := *x
	other.Engine = x.in(tx)
	return &other
}

// Add adds a rule for an event definition. The parameter order is the position of the definition in
// its target. The error has the kind fault.Invalid if the model does not have a type or token of
// the definition.
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

// Types returns the concrete types of assets that at least one rule can match, ordered by their
// codes.
func (x *Index) Types() []*meta.Type {
	all := map[*meta.Type]bool{}
	for _, rules := range []map[*meta.Type][]*Rule{x.created, x.changed} {
		for t := range rules {
			all[t] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b *meta.Type) int { return a.Code - b.Code })
}

// of returns the rules for the type of a version. If the version is the first version of its asset,
// these are the rules for creations. Otherwise these are the rules for changes.
func (x *Index) of(v *change.Version) []*Rule {
	if v.Created == v.Moment {
		return x.created[v.Type]
	}
	return x.changed[v.Type]
}
