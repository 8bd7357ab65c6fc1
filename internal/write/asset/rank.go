package asset

import (
	"context"
	"regexp"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
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
	if err := k.loaded.lockTrees(ctx, map[string]bool{rankSequence(w.typ): true}); err != nil {
		return err
	}

	own, _ := w.cur.slots[a.Place.Slot].(int64)
	if ch.Neighbour != nil {
		neighbour, err := k.rankNeighbour(ctx, w, a, *ch.Neighbour)
		if err != nil || neighbour == w {
			return err
		}
		at, _ := neighbour.cur.slots[a.Place.Slot].(int64)
		return k.placeRank(ctx, w, a, at, ch.After)
	}

	written, ok := ch.single()
	rank, _ := value.Parse(a.Kind, false, written.Text)
	switch {
	case !ok || ch.Find != nil:
		return invalid(a)
	case written.isEmpty() && w.creating():
		return nil // a new asset without a rank gets the last one
	case own != 0 && rank == own:
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
	return at, v.Text[last] == '+', err == nil && at >= 1 && at <= MaxRank
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

// placeRank moves an asset just before or after the rank at. It does not matter whether an asset
// has that rank. placeRank changes nothing if the asset to move is already at that place.
func (k *ranker) placeRank(ctx context.Context, w *row, a *meta.Attr, at int64, after bool) error {
	s, err := newRankSpace(ctx, k.changes, w, a.Place.Slot)
	if err != nil {
		return err
	}
	lower, upper, err := s.neighbourRanks(ctx, at, after)
	if err != nil {
		return err
	}
	if own, ok := w.cur.slots[s.slot].(int64); ok && lower < own && (own < upper || upper == 0) {
		return nil
	}

	last := upper == 0
	if last {
		if s.appendable {
			w.setSlot(s.slot, k.changes.nextRank(w.typ))
			return nil
		}
		upper = min(ceiling(lower), MaxRank+1)
	}
	if rank, ok := between(lower, upper); ok {
		w.setSlot(s.slot, rank)
		return nil
	}
	if done, err := s.rebalance(ctx, lower, upper); done || err != nil {
		return err
	}
	if !last {
		return invalid(a)
	}
	w.setSlot(s.slot, k.changes.nextRank(w.typ))
	return nil
}
