package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// rankSpace is the rank space of an asset, for a command that has locked the rank space. Other
// requests may still add new assets, with ranks of the sequence. rankSpace does not use these
// ranks.
type rankSpace struct {
	loaded     *loaded
	changes    *changes
	w          *row   // the asset to rank
	slot       int    // of the rank
	name       string // of the column of the rank
	where      string // FROM and WHERE for all assets of the space except w
	args       []any  // of where
	limit      int64  // greater than every rank in use
	appendable bool   // the sequence has enough ranks left to use them for moves to the end
}

func newRankSpace(ctx context.Context, c *changes, w *row, slot int) (*rankSpace, error) {
	s := &rankSpace{loaded: c.loaded, changes: c, w: w, slot: slot, name: c.s.e.layout.slots[slot].Name}
	types := c.s.e.layout.ranked[rankSequence(w.typ)]
	in, args := db.InArgs(types)
	s.where, s.args = ` FROM asset WHERE id <> ? AND type IN `+in, append([]any{w.id}, args...)
	var value int64
	err := c.s.tx.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, rankSequence(w.typ)).Scan(&value)
	if fault.KindOf(err) == fault.NotFound {
		value, err = firstRankValue(ctx, c.s.tx, types)
	}
	if err != nil {
		return nil, fmt.Errorf("sequence of ranks: %w", err)
	}
	top := rankAt(value)
	s.appendable, s.limit = top < rankHalf, min(ceiling(top), MaxRank+1)
	return s, nil
}

// neighbourRanks returns the ranks of the two assets around the place just before or after the
// rank at. lower is 0 if no asset is before that place, and upper is 0 if none is after it.
func (s *rankSpace) neighbourRanks(ctx context.Context, at int64, after bool) (lower, upper int64, err error) {
	below, above := ` < ?`, ` >= ?`
	if after {
		below, above = ` <= ?`, ` > ?`
	}
	lower, err = s.nearest(ctx, below+` ORDER BY `+s.name+` DESC LIMIT 1`, min(at, s.limit))
	if err == nil && at < s.limit {
		upper, err = s.nearest(ctx, above+` AND `+s.name+` < ? ORDER BY `+s.name+` LIMIT 1`, at, s.limit)
	}
	return lower, upper, err
}

// nearest returns the first rank of the space that meets a condition; 0 if there is none.
func (s *rankSpace) nearest(ctx context.Context, condition string, bounds ...any) (rank int64, err error) {
	query := `SELECT ` + s.name + s.where + ` AND ` + s.name + condition
	err = s.loaded.s.tx.QueryRow(ctx, query, slices.Concat(s.args, bounds)...).Scan(&rank)
	if fault.KindOf(err) == fault.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("nearest rank: %w", err)
	}
	return rank, nil
}

// rebalanceSizes are the numbers of neighbours on one side that rebalance tries to move, in
// this order. It tries the next size if the one before does not make enough room.
var rebalanceSizes = [...]int{32, 1024, 32768}

// minRoom is the least distance that a rebalance leaves between neighbours.
const minRoom = 4

// rebalance ranks the asset between two ranks that have no room between them. To make room, it
// assigns new ranks to the neighbours above the two ranks, or to the neighbours below them. The
// asset and these neighbours share the range up to the first neighbour that is not moved. The asset
// gets the middle of the nearest quarter, and the neighbours divide the other three quarters
// evenly. rebalance returns false, and changes nothing, if no size makes enough room.
func (s *rankSpace) rebalance(ctx context.Context, lower, upper int64) (bool, error) {
	for _, n := range rebalanceSizes {
		for _, up := range [...]bool{true, false} {
			from := lower
			if up {
				from = upper
			}
			ids, end, err := s.neighbours(ctx, from, n, up)
			if err != nil {
				return false, err
			}
			room := upper - end
			if up {
				room = end - lower
			}
			hot := room / 4
			step := (room - hot) / int64(len(ids)+1)
			if len(ids) == 0 || hot < minRoom || step < minRoom {
				continue
			}
			if !up {
				lower, hot, step = upper, -hot, -step
			}
			return true, s.shift(ctx, ids, lower, hot, step)
		}
	}
	return false, nil
}

// shift ranks the asset in the middle between start and start+hot, and its neighbours from
// start+hot on, at distances of step. hot and step are negative for neighbours before the asset.
func (s *rankSpace) shift(ctx context.Context, ids []int64, start, hot, step int64) error {
	if err := s.loaded.loadRows(ctx, slices.Clone(ids)); err != nil {
		return err
	}
	s.w.setSlot(s.slot, offSequence(start+hot/2))
	for i, id := range ids {
		if neighbour := s.loaded.rows[id]; neighbour != nil {
			s.changes.touch(neighbour)
			neighbour.setSlot(s.slot, offSequence(start+hot+step*int64(i)))
		}
	}
	return nil
}

// neighbours returns the ids of the first n assets from a rank up or down. end is the rank of
// the next asset in that direction, or the end of the space if there is no next asset.
func (s *rankSpace) neighbours(ctx context.Context, from int64, n int, up bool) (ids []int64, end int64, err error) {
	where, order := ` >= ?`, ``
	if !up {
		where, order = ` <= ?`, ` DESC`
	}
	query := fmt.Sprintf(`SELECT id, %s%s AND %s%s AND %s < ? ORDER BY %s%s, id LIMIT %d`,
		s.name, s.where, s.name, where, s.name, s.name, order, n+1)
	end = from
	err = db.Each(ctx, s.loaded.s.tx, query, slices.Concat(s.args, []any{from, s.limit}), func(scan db.Scanner) error {
		var id int64
		err := scan.Scan(&id, &end)
		ids = append(ids, id)
		return err
	})
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("ranks: %w", err)
	case len(ids) > n:
		return ids[:n], end, nil
	case up && len(ids) > 0:
		return ids, min(ceiling(end), MaxRank+1), nil
	case up:
		return nil, from, nil
	}
	return ids, 0, nil
}
