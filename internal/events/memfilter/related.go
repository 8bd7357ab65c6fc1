package memfilter

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// maxRelated is the maximum number of versions in a Related.
const maxRelated = 4000

// Related is a cache. It contains the assets to which some versions refer, with their data at the
// moments of these versions. The zero value is an empty cache.
type Related struct {
	versions map[int64][]change.Version // by stored id of an asset; an empty list if the asset did not exist
}

// at returns the version of an asset at a moment, or nil if the asset did not exist then. The
// result known is false if the asset is not in the cache.
func (n Related) at(id, moment int64) (v *change.Version, known bool) {
	all, known := n.versions[id]
	for i := range all {
		if all[i].Moment <= moment && all[i].Until > moment {
			return &all[i], true
		}
	}
	return nil, known
}

// Relations lists the relations whose assets are needed by filters, by concrete type. A relation is
// the slot of its column.
type Relations map[*meta.Type][]int

// Add adds the relations that a filter needs. The parameter from is the type of the assets for
// which the filter was compiled.
func (h Relations) Add(from *meta.Type, f *Filter) {
	for _, t := range from.Concrete {
		for _, s := range f.relations {
			if !slices.Contains(h[t], s) {
				h[t] = append(h[t], s)
			}
		}
	}
}

// Load reads the assets to which the versions refer by the given relations. It runs one statement
// per db.MaxIn assets. If these assets have more than maxRelated versions, it returns an empty
// cache.
func Load(ctx context.Context, q db.Querier, l *change.Loader, relations Relations, versions []change.Version) (Related, error) {
	n := Related{}
	if len(relations) == 0 || len(versions) == 0 {
		return n, nil
	}
	first, last := versions[0].Moment, versions[0].Moment
	var ids []int64
	for i := range versions {
		v := &versions[i]
		first, last = min(first, v.Moment), max(last, v.Moment)
		for _, slot := range relations[v.Type] {
			if id, ok := v.Columns[slot].(int64); ok {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	found := map[int64][]change.Version{}
	room := maxRelated
	for part := range slices.Chunk(ids, db.MaxIn) {
		all, err := l.During(ctx, q, part, first, last, room+1)
		if err != nil {
			return n, err
		}
		if room -= len(all); room < 0 {
			return n, nil
		}
		for _, id := range part {
			found[id] = nil
		}
		for _, v := range all {
			found[v.ID] = append(found[v.ID], v)
		}
	}
	n.versions = found
	return n, nil
}
