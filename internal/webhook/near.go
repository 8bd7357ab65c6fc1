package webhook

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// nearMost bounds the versions of related assets that are kept for a chunk;
// with more of them SQL answers.
const nearMost = 4000

// near holds the assets that a chunk's versions name, as they were during it.
// The zero value knows nothing.
type near struct {
	versions map[int64][]change.Version // by stored id; none for an asset that was not there
}

// at returns an asset as it was at a moment of the chunk; nil when it was not
// there.
func (n near) at(id, moment int64) (v *change.Version, known bool) {
	all, known := n.versions[id]
	for i := range all {
		if all[i].Moment <= moment && all[i].Until > moment {
			return &all[i], true
		}
	}
	return nil, known
}

// near reads what the versions' relations lead to, as far as definitions of
// their types look at it.
func (w *Worker) near(ctx context.Context, idx *index, versions []change.Version) (near, error) {
	n := near{}
	if len(idx.hops) == 0 || len(versions) == 0 {
		return n, nil
	}
	first, last := versions[0].Moment, versions[0].Moment
	var ids []int64
	for i := range versions {
		v := &versions[i]
		first, last = min(first, v.Moment), max(last, v.Moment)
		for _, slot := range idx.hops[v.Type] {
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
		all, err := w.loader.During(ctx, w.db, part, first, last, room+1)
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

// hopsOf adds slots to those of a type.
func hopsOf(hops map[*meta.Type][]int, t *meta.Type, slots []int) {
	for _, s := range slots {
		if !slices.Contains(hops[t], s) {
			hops[t] = append(hops[t], s)
		}
	}
}
