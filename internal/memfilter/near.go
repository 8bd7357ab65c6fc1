package memfilter

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// nearMost bounds the versions of related assets that are kept;
// with more of them SQL answers.
const nearMost = 4000

// Near holds the assets that versions name, as they were during those. The zero
// value knows nothing.
type Near struct {
	versions map[int64][]change.Version // by stored id; none for an asset that was not there
}

// at returns an asset as it was at a moment of those versions; nil when it was
// not there.
func (n Near) at(id, moment int64) (v *change.Version, known bool) {
	all, known := n.versions[id]
	for i := range all {
		if all[i].Moment <= moment && all[i].Until > moment {
			return &all[i], true
		}
	}
	return nil, known
}

// Hops are slots of relations, by the concrete type that has them.
type Hops map[*meta.Type][]int

// Add adds the relations that a filter of from follows.
func (h Hops) Add(from *meta.Type, f *Filter) {
	for _, t := range from.Concrete {
		for _, s := range f.hops {
			if !slices.Contains(h[t], s) {
				h[t] = append(h[t], s)
			}
		}
	}
}

// Load reads what the versions' relations lead to, as far as hops names them:
// one statement per db.MaxIn assets. Where that would be too much, the answer
// knows nothing.
func Load(ctx context.Context, q db.Querier, l *change.Loader, hops Hops, versions []change.Version) (Near, error) {
	n := Near{}
	if len(hops) == 0 || len(versions) == 0 {
		return n, nil
	}
	first, last := versions[0].Moment, versions[0].Moment
	var ids []int64
	for i := range versions {
		v := &versions[i]
		first, last = min(first, v.Moment), max(last, v.Moment)
		for _, slot := range hops[v.Type] {
			if id, ok := v.Columns[slot].(int64); ok {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	found := map[int64][]change.Version{}
	room := nearMost
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
