package asset

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/rank"
)

// apartError reports that the assets next to a former rank have moved apart.
type apartError struct{ id int64 } // stored id of one of them

func (apartError) Error() string { return "the former neighbours have moved apart" }

// rank gives the asset the rank that it had before. It is a conflict if the assets that were next to
// that rank have moved apart.
func (u *undoer) rank(ctx context.Context, a *meta.Attr, v *pastValue) error {
	was, _ := v.was.(int64)
	place, err := u.formerPlace(ctx, a, was)
	apart, isApart := errors.AsType[apartError](err)
	switch {
	case isApart:
		c := u.conflict(a, v.since)
		if t, err := u.seen(ctx, apart.id); err != nil || t == nil {
			return err
		}
		return u.s.tx.QueryRow(ctx, `SELECT moment FROM asset WHERE id = ?`, apart.id).Scan(&c.by)
	case err != nil:
		return err
	case place == 0:
		u.w.setSlot(a.Place.Slot, was)
	default:
		if u.loaded.several { // the next command needs the new ranks
			return errSplit
		}
		if err := u.set.ranker.placeRank(ctx, u.w, a, place, true); err != nil {
			return err
		}
	}
	u.describe(Reverted{Attr: a, Old: v.left, New: v.was})
	return nil
}

// formerRanks are the ranks that other requests have changed since a moment, of one rank space.
type formerRanks struct {
	moved map[int64]int64 // key: stored id; value: the rank at the moment; 0: the asset did not exist yet
	order []moved         // the assets of moved that existed, by their ranks at the moment
}

// moved is an asset and its rank at a moment.
type moved struct{ id, rank int64 }

// formerPlace returns 0 if the asset can have the rank again that it had before. If another asset has
// this rank now, or the neighbours have new ranks but the same order, it returns the rank of the
// asset after which to rank it.
// Errors: apartError.
func (u *undoer) formerPlace(ctx context.Context, a *meta.Attr, was int64) (after int64, err error) {
	if err := u.loaded.lockTrees(ctx, map[string]bool{rank.Sequence(u.w.typ): true}); err != nil {
		return 0, err
	}
	space := u.space(a)
	former, err := u.formerRanks(ctx, space)
	if err != nil {
		return 0, err
	}
	before, err := u.formerNeighbour(ctx, space, former, was, false)
	if err != nil {
		return 0, err
	}
	next, err := u.formerNeighbour(ctx, space, former, was, true)
	if err != nil {
		return 0, err
	}
	switch {
	case before.id != 0 && next.id != 0 && before.now >= next.now:
		return 0, former.apart(before.id, next.id)
	case (before.id == 0 || before.now < was) && (next.id == 0 || was < next.now):
		taken, err := u.isTaken(ctx, space, was)
		if err != nil || !taken {
			return 0, err
		}
		return was, nil
	case before.id == 0:
		return 0, former.apart(next.id)
	}
	return before.now, nil
}

// apart returns an apartError for the first of the assets that has moved.
func (f *formerRanks) apart(ids ...int64) error {
	for _, id := range ids {
		if _, has := f.moved[id]; has {
			return apartError{id}
		}
	}
	return apartError{ids[0]}
}

// rankSpace is the part of a statement that selects the assets of a rank space.
type rankSpace struct {
	name   string // name of the sequence
	slot   int
	column string
	in     string
	types  []any
}

func (u *undoer) space(a *meta.Attr) rankSpace {
	layout, name := u.s.e.layout, rank.Sequence(u.w.typ)
	in, types := db.InArgs(layout.ranked[name])
	return rankSpace{name, a.Place.Slot, layout.Slots[a.Place.Slot].Name, in, types}
}

// formerRanks reads the ranks that were changed since the first moment that the batch takes back. It
// leaves out assets whose own changes the request takes back.
func (u *undoer) formerRanks(ctx context.Context, s rankSpace) (*formerRanks, error) {
	if f := u.loaded.formerRanks[s.name]; f != nil {
		return f, nil
	}
	since := u.s.undoSince
	f := &formerRanks{moved: map[int64]int64{}}
	query := `SELECT a.id, COALESCE(v.` + s.column + `, 0) FROM asset a` +
		` LEFT JOIN asset_version v ON v.id = a.id AND v.moment < ? AND v.until_moment >= ?` +
		` WHERE a.type IN ` + s.in + ` AND a.moment >= ? AND (v.id IS NULL OR v.` + s.column + ` <> a.` + s.column + `) ORDER BY 2`
	args := append([]any{since, since}, s.types...)
	err := db.Each(ctx, u.s.tx, query, append(args, since), func(scan db.Scanner) error {
		var m moved
		if err := scan.Scan(&m.id, &m.rank); err != nil {
			return err
		}
		f.moved[m.id] = m.rank
		if m.rank != 0 && !u.s.undoes[m.id] {
			f.order = append(f.order, m)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read former ranks: %w", err)
	}
	u.loaded.formerRanks[s.name] = f
	return f, nil
}

// neighbour is an asset that was next to a rank. now is its current rank.
type neighbour struct{ id, was, now int64 }

// formerNeighbour returns the asset that was next above or below a rank; its id is 0 if there was
// none.
func (u *undoer) formerNeighbour(ctx context.Context, s rankSpace, f *formerRanks, at int64, above bool) (n neighbour, err error) {
	stays, err := u.nearestStaying(ctx, s, f, at, above)
	if err != nil {
		return n, err
	}
	if stays.id != 0 {
		n = neighbour{id: stays.id, was: stays.rank, now: stays.rank}
	}
	for _, m := range f.order {
		closer := m.rank < at && (n.id == 0 || m.rank > n.was)
		if above {
			closer = m.rank > at && (n.id == 0 || m.rank < n.was)
		}
		if closer && m.id != u.w.id {
			n = neighbour{id: m.id, was: m.rank}
		}
	}
	if n.now != 0 || n.id == 0 {
		return n, nil
	}
	if w := u.loaded.rows[n.id]; w != nil {
		n.now, _ = w.cur.Slots[s.slot].(int64)
		return n, nil
	}
	err = u.s.tx.QueryRow(ctx, `SELECT `+s.column+` FROM asset WHERE id = ?`, n.id).Scan(&n.now)
	return n, err
}

// nearestStaying returns the nearest asset above or below a rank whose rank has not changed since.
func (u *undoer) nearestStaying(ctx context.Context, s rankSpace, f *formerRanks, at int64, above bool) (found moved, err error) {
	where, order := ` < ?`, ` DESC`
	if above {
		where, order = ` > ?`, ``
	}
	for from := at; ; {
		query := `SELECT id, ` + s.column + ` FROM asset WHERE type IN ` + s.in + ` AND ` + s.column + where +
			` ORDER BY ` + s.column + order + ` LIMIT 32`
		page, err := db.Collect(ctx, u.s.tx, query, append(append([]any{}, s.types...), from), func(scan db.Scanner) (m moved, err error) {
			return m, scan.Scan(&m.id, &m.rank)
		})
		if err != nil {
			return moved{}, fmt.Errorf("read neighbours of a rank: %w", err)
		}
		for _, m := range page {
			if _, has := f.moved[m.id]; !has && m.id != u.w.id && !u.s.undoes[m.id] {
				return m, nil
			}
		}
		if len(page) < 32 {
			return moved{}, nil
		}
		if err := u.proceed(ctx); err != nil {
			return moved{}, err
		}
		from = page[len(page)-1].rank
	}
}

// isTaken reports whether another asset has a rank now, or at the end of the batch.
func (u *undoer) isTaken(ctx context.Context, s rankSpace, at int64) (bool, error) {
	for _, w := range u.changes.changed {
		if w != u.w && rank.Sequence(w.typ) == s.name && w.cur.Slots[s.slot] == any(at) {
			return true, nil
		}
	}
	var id int64
	err := u.s.tx.QueryRow(ctx, `SELECT id FROM asset WHERE type IN `+s.in+` AND `+s.column+` = ? AND id <> ? LIMIT 1`,
		append(append([]any{}, s.types...), at, u.w.id)...).Scan(&id)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if w := u.loaded.rows[id]; err == nil && w != nil { // the batch may have changed its rank
		return w.cur.Slots[s.slot] == any(at), nil
	}
	return err == nil, err
}
