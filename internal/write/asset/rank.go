package asset

import (
	"context"
	"errors"
	"regexp"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/write/asset/rank"
)

// ranker changes the ranks of assets.
type ranker struct {
	unit
	resolver *resolver
}

// setRank moves an asset just before or after another asset of its rank space, or just before
// or after a rank. A plain number is invalid, except the rank that the asset already has,
// which changes nothing.
func (k *ranker) setRank(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	if a.Place.Kind != meta.InColumn {
		return invalid(a)
	}
	if err := k.loaded.lockTrees(ctx, map[string]bool{rank.Sequence(w.typ): true}); err != nil {
		return err
	}

	own, _ := w.cur.Slots[a.Place.Slot].(int64)
	if ch.Neighbour != nil {
		neighbour, err := k.rankNeighbour(ctx, w, a, *ch.Neighbour)
		if err != nil || neighbour == w {
			return err
		}
		at, _ := neighbour.cur.Slots[a.Place.Slot].(int64)
		return k.placeRank(ctx, w, a, at, ch.After)
	}

	written, ok := ch.single()
	number, _ := value.Parse(a.Kind, false, written.Text)
	switch {
	case !ok || ch.Find != nil:
		return invalid(a)
	case written.isEmpty() && w.creating():
		return nil // a new asset without a rank gets the last rank
	case own != 0 && number == own:
		return nil // the client sends back the rank that it has read
	}

	at, after, ok := parseRelativeRank(written)
	if !ok {
		return invalid(a)
	}
	if at == own {
		return nil
	}
	return k.placeRank(ctx, w, a, at, after)
}

var relativeRankForm = regexp.MustCompile(`^[0-9]{1,10}[+-]$`)

// parseRelativeRank parses "<rank>+", which means just after the rank, and "<rank>-", which
// means just before it.
func parseRelativeRank(v Value) (at int64, after, ok bool) {
	if v.Kind != Text || !relativeRankForm.MatchString(v.Text) {
		return 0, false, false
	}
	last := len(v.Text) - 1
	at, err := strconv.ParseInt(v.Text[:last], 10, 64)
	return at, v.Text[last] == '+', err == nil && at >= 1 && at <= rank.Max
}

// rankNeighbour resolves and locks the asset next to which w is ranked.
func (k *ranker) rankNeighbour(ctx context.Context, w *row, a *meta.Attr, v Value) (*row, error) {
	up := w.typ.Ancestors()
	byName := &meta.Attr{Name: a.Name, On: w.typ, Declared: w.typ, Kind: meta.Relation, Related: up[len(up)-1]}
	t, null, err := k.resolver.resolve(ctx, byName, v)
	if err != nil {
		return nil, err
	}
	if null || t.typ.RankSpace != w.typ.RankSpace {
		return nil, invalid(a)
	}
	neighbour, ok, err := k.loaded.lock(ctx, t.id)
	if err == nil && !ok {
		err = invalid(a)
	}
	return neighbour, err
}

// placeRank moves an asset just before the rank in the parameter at, or just after that rank if
// after is true. It changes nothing if the asset is already at that place.
func (k *ranker) placeRank(ctx context.Context, w *row, a *meta.Attr, at int64, after bool) error {
	slot, layout, sequence := a.Place.Slot, k.s.e.layout, rank.Sequence(w.typ)
	space, err := rank.Read(ctx, k.s.tx, rank.Of{
		ID: w.id, Type: w.typ, Types: layout.ranked[sequence], Column: layout.Slots[slot].Name, Recent: k.s.recentRanks[sequence],
	})
	if err != nil {
		return err
	}
	own, _ := w.cur.Slots[slot].(int64)
	place, err := space.Place(ctx, own, at, after)
	switch {
	case errors.Is(err, rank.ErrFull):
		return invalid(a)
	case err != nil || place.Stays:
		return err
	case place.Last:
		w.setSlot(slot, k.changes.nextRank(w.typ))
		return nil
	}
	if k.s.recentRanks == nil {
		k.s.recentRanks = map[string]int64{}
	}
	k.s.recentRanks[sequence] = place.Rank // if the command fails later, no asset has this rank, which does no harm
	return k.setRanks(ctx, w, slot, place)
}

// setRanks sets the rank of an asset, and the ranks of the neighbours that make room for it.
func (k *ranker) setRanks(ctx context.Context, w *row, slot int, place rank.Place) error {
	ids := make([]int64, len(place.Others))
	for i, other := range place.Others {
		ids[i] = other.ID
	}
	if len(ids) > 0 {
		if err := k.loaded.loadRows(ctx, ids); err != nil {
			return err
		}
	}
	w.setSlot(slot, place.Rank)
	for _, other := range place.Others {
		if neighbour := k.loaded.rows[other.ID]; neighbour != nil {
			neighbour.shifted = true
			k.changes.touch(neighbour)
			neighbour.setSlot(slot, other.Rank)
		}
	}
	return nil
}
