package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// rankStep is the room a rank takes at either end of its space.
const rankStep = int64(1) << rankBits

// spreads are how many neighbours are ranked anew when there is no room
// between two; the next one is tried where the one before is not enough.
var spreads = [...]int{32, 1024, 32768}

// place ranks an asset just before or after another of its rank space.
func (r *run) place(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	if a.Kind != meta.Rank || a.Place.Kind != meta.InColumn {
		return invalid(a)
	}
	slot := a.Place.Slot
	near, err := r.neighbour(ctx, w, a, *ch.Near)
	if err != nil || near == w {
		return err
	}
	at, _ := near.cur.slots[slot].(int64)
	lower, upper := at, at
	if ch.After {
		upper, err = r.nextRank(ctx, w, slot, at, `>`, `MIN`, at+2*rankStep)
	} else {
		lower, err = r.nextRank(ctx, w, slot, at, `<`, `MAX`, at-2*rankStep)
	}
	if err != nil {
		return err
	}
	if upper-lower > 1 {
		w.setSlot(slot, lower+(upper-lower)/2)
		return nil
	}
	return r.spread(ctx, w, a, lower, upper)
}

// neighbour finds the asset that a rank is relative to.
func (r *run) neighbour(ctx context.Context, w *row, a *meta.Attr, v Value) (*row, error) {
	up := w.typ.Ancestors()
	like := &meta.Attr{Name: a.Name, On: w.typ, Declared: w.typ, Kind: meta.Relation, Related: up[len(up)-1]}
	t, null, err := r.resolve(ctx, like, v)
	if err != nil {
		return nil, err
	}
	if null || t.typ.RankSpace != w.typ.RankSpace {
		return nil, invalid(a)
	}
	near, ok, err := r.lock(ctx, t.id)
	if err == nil && !ok {
		err = invalid(a)
	}
	return near, err
}

// rankTypes returns the codes of the types that are ranked together with t.
func (r *run) rankTypes(t *meta.Type) []int64 {
	var codes []int64
	for _, other := range r.e.model.Types {
		if r.e.layout.types[other] != nil && other.RankSpace == t.RankSpace {
			codes = append(codes, int64(other.Code))
		}
	}
	return codes
}

// nextRank returns the nearest rank beyond at, or end when nothing is there.
func (r *run) nextRank(ctx context.Context, w *row, slot int, at int64, beyond, nearest string, end int64) (int64, error) {
	name := r.e.layout.slots[slot].Name
	in, args := db.InArgs(r.rankTypes(w.typ))
	var next *int64
	err := r.s.tx.QueryRow(ctx, `SELECT `+nearest+`(`+name+`) FROM asset WHERE `+name+` `+beyond+` ? AND id <> ? AND type IN `+in,
		append([]any{at, w.id}, args...)...).Scan(&next)
	if err != nil {
		return 0, fmt.Errorf("next rank: %w", err)
	}
	if next == nil {
		return end, nil
	}
	return *next, nil
}

// spread makes room between two ranks: the asset takes the first place after
// lower, and those from upper on are ranked anew behind it.
func (r *run) spread(ctx context.Context, w *row, a *meta.Attr, lower, upper int64) error {
	slot := a.Place.Slot
	for _, n := range spreads {
		ids, end, err := r.ranked(ctx, w, slot, upper, n)
		if err != nil {
			return err
		}
		if end == 0 {
			end = upper + int64(len(ids)+2)*rankStep
		}
		step := (end - lower) / int64(len(ids)+2)
		if step < 2 {
			continue
		}
		if err := r.loadRows(ctx, append([]int64(nil), ids...)); err != nil {
			return err
		}
		w.setSlot(slot, lower+step)
		for i, id := range ids {
			if m := r.rows[id]; m != nil {
				r.touch(m)
				m.setSlot(slot, lower+step*int64(i+2))
			}
		}
		return nil
	}
	return invalid(a)
}

// ranked returns the first n assets from a rank on, and the rank of the one
// behind them; 0 when they are the last.
func (r *run) ranked(ctx context.Context, w *row, slot int, from int64, n int) (ids []int64, end int64, err error) {
	name := r.e.layout.slots[slot].Name
	in, args := db.InArgs(r.rankTypes(w.typ))
	rows, err := r.s.tx.Query(ctx, fmt.Sprintf(`SELECT id, %s FROM asset WHERE %s >= ? AND id <> ? AND type IN %s ORDER BY %s, id LIMIT %d`,
		name, name, in, name, n+1), append([]any{from, w.id}, args...)...)
	if err != nil {
		return nil, 0, fmt.Errorf("ranks: %w", err)
	}
	err = each(rows, func() error {
		var id, at int64
		if err := rows.Scan(&id, &at); err != nil {
			return err
		}
		if len(ids) == n {
			end = at
			return nil
		}
		ids = append(ids, id)
		return nil
	})
	return ids, end, err
}
