package rank

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Of describes the asset to rank.
type Of struct {
	ID     int64      // stored id
	Type   *meta.Type // type of the asset
	Types  []int64    // codes of the types of its rank space
	Column string     // name of the column of the rank
	Recent int64      // latest rank that the same request has given in this rank space; 0: none
}

// Space is the rank space of an asset, for a command that has locked the rank space. Other requests
// may still add new assets, with ranks of the sequence. Space does not use these ranks.
type Space struct {
	q          db.Querier
	name       string // name of the column of the rank
	where      string // FROM and WHERE for all assets of the space except the one to rank
	args       []any  // arguments of where
	limit      int64  // greater than every rank in use
	recent     int64  // Of.Recent
	appendable bool   // true if the sequence has enough ranks left to use them for moves to the end
}

// Place is a place in a rank space.
type Place struct {
	Stays  bool    // true if the asset is already at the place
	Last   bool    // true if the place is after all other assets; the asset gets the next rank of the sequence
	Rank   int64   // new rank of the asset, if Stays and Last are false
	Others []Moved // assets that get new ranks to make room
}

// Moved is an asset with a new rank.
type Moved struct{ ID, Rank int64 }

// ErrFull reports that a place has no room, and that no room can be made.
var ErrFull = errors.New("no rank is free at this place")

// Read returns the rank space of an asset, with the current value of the sequence. q is the
// transaction that has locked the rank space.
func Read(ctx context.Context, q db.Querier, asset Of) (*Space, error) {
	in, args := db.InArgs(asset.Types)
	s := &Space{
		q: q, name: asset.Column, recent: asset.Recent,
		// Because of "+ 0", the database cannot use the index of the type. With that index it would sort all
		// assets of the type.
		where: ` FROM asset WHERE id <> ? AND type + 0 IN ` + in, args: append([]any{asset.ID}, args...),
	}
	var value int64
	err := q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, Sequence(asset.Type)).Scan(&value)
	if fault.KindOf(err) == fault.NotFound {
		value, err = FirstValue(ctx, q, asset.Types)
	}
	if err != nil {
		return nil, fmt.Errorf("sequence of ranks: %w", err)
	}
	top := atValue(value)
	s.appendable, s.limit = top < half, min(ceiling(top), Max+1)
	return s, nil
}

// Place returns the place just before the rank in the parameter at, or just after that rank if
// after is true. No asset needs to have that rank. own is the rank of the asset to place, or 0 if
// it has none.
// Errors: ErrFull.
func (s *Space) Place(ctx context.Context, own, at int64, after bool) (Place, error) {
	lower, upper, err := s.neighbourRanks(ctx, at, after)
	if err != nil {
		return Place{}, err
	}
	if own != 0 && lower < own && (own < upper || upper == 0) {
		return Place{Stays: true}, nil
	}

	last := upper == 0
	if last {
		if s.appendable {
			return Place{Last: true}, nil
		}
		upper = min(ceiling(lower), Max+1)
	}
	if rank, ok := between(lower, upper, s.recent); ok {
		return Place{Rank: rank}, nil
	}
	place, ok, err := s.rebalance(ctx, lower, upper)
	switch {
	case err != nil || ok:
		return place, err
	case last:
		return Place{Last: true}, nil
	}
	return Place{}, ErrFull
}

// neighbourRanks returns the ranks of the two assets around a place. The place is just before the
// rank in the parameter at, or just after that rank if after is true. lower is 0 if no asset is
// before the place, and upper is 0 if no asset is after the place.
func (s *Space) neighbourRanks(ctx context.Context, at int64, after bool) (lower, upper int64, err error) {
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

// nearest returns the first rank of the space that meets a condition, or 0 if there is no such
// rank.
func (s *Space) nearest(ctx context.Context, condition string, bounds ...any) (rank int64, err error) {
	query := `SELECT ` + s.name + s.where + ` AND ` + s.name + condition
	err = s.q.QueryRow(ctx, query, slices.Concat(s.args, bounds)...).Scan(&rank)
	if fault.KindOf(err) == fault.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("nearest rank: %w", err)
	}
	return rank, nil
}

// rebalanceSizes are the numbers of neighbours on one side that rebalance tries to move, in this
// order. If one number does not make enough room, rebalance tries the next.
var rebalanceSizes = [...]int{32, 1024, 32768}

// minRoom is the least distance that a rebalance leaves between neighbours.
const minRoom = 4

// rebalance ranks the asset between two ranks that have no room between them. To make room, it
// assigns new ranks to the neighbours above the two ranks, or to the neighbours below them. The
// asset and these neighbours share the range up to the first neighbour that is not moved. The
// asset gets the middle of the first quarter of this range. The neighbours divide the other three
// quarters evenly. rebalance returns false if no size makes enough room.
func (s *Space) rebalance(ctx context.Context, lower, upper int64) (Place, bool, error) {
	for _, n := range rebalanceSizes {
		for _, up := range [...]bool{true, false} {
			from := lower
			if up {
				from = upper
			}
			ids, end, err := s.neighbours(ctx, from, n, up)
			if err != nil {
				return Place{}, false, err
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
			return shifted(ids, lower, hot, step), true, nil
		}
	}
	return Place{}, false, nil
}

// shifted ranks the asset in the middle between start and start+hot. It ranks the neighbours from
// start+hot on, at distances of step. hot and step are negative for neighbours before the asset.
func shifted(ids []int64, start, hot, step int64) Place {
	place := Place{Rank: offSequence(start + hot/2), Others: make([]Moved, len(ids))}
	for i, id := range ids {
		place.Others[i] = Moved{id, offSequence(start + hot + step*int64(i))}
	}
	return place
}

// neighbours returns the ids of at most n assets from a rank upward or downward. end is the rank
// of the next asset in that direction, or the end of the space if there is no next asset.
func (s *Space) neighbours(ctx context.Context, from int64, n int, up bool) (ids []int64, end int64, err error) {
	where, order := ` >= ?`, ``
	if !up {
		where, order = ` <= ?`, ` DESC`
	}
	query := fmt.Sprintf(`SELECT id, %s%s AND %s%s AND %s < ? ORDER BY %s%s, id LIMIT %d`,
		s.name, s.where, s.name, where, s.name, s.name, order, n+1)
	end = from
	err = db.Each(ctx, s.q, query, slices.Concat(s.args, []any{from, s.limit}), func(scan db.Scanner) error {
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
		return ids, min(ceiling(end), Max+1), nil
	case up:
		return nil, from, nil
	}
	return ids, 0, nil
}
