package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// copyFrom gives a row the values that it copies from the asset a relation
// names.
func (r *run) copyFrom(ctx context.Context, w *row, s source, t *target) error {
	if t == nil {
		for _, slot := range s.slots {
			w.setSlot(slot, nil)
		}
		return nil
	}
	if t.light != nil && !t.light.held {
		if err := r.loadLight(ctx, []int64{t.id}, r.e.db.Dialect.ForShare); err != nil {
			return err
		}
		t.light = r.lights[t.id]
	}
	for _, slot := range s.slots {
		w.setSlot(slot, t.slot(r.e.layout, slot))
	}
	r.behind[t.id] = append(r.behind[t.id], w)
	return nil
}

// cascade lets followers follow: what a touched asset's followers copy from it
// is copied again, and so on for what follows them.
func (r *run) cascade(ctx context.Context) error {
	for i := 0; i < len(r.touched); i++ { // grows
		w := r.touched[i]
		if !w.making() {
			if !r.shifted(w) {
				continue
			}
			if err := r.loadBehind(ctx, []int64{w.id}); err != nil {
				return err
			}
		}
		for _, f := range r.behind[w.id] {
			if r.rows[f.id] != f { // its own command failed
				continue
			}
			if err := r.followUp(ctx, w, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// shifted reports whether something others copy has changed on w.
func (r *run) shifted(w *row) bool {
	for _, slot := range r.e.layout.followed {
		if w.cur.slots[slot] != w.before.slots[slot] {
			return true
		}
	}
	return false
}

// followUp copies to f what it follows on w, if it still does.
func (r *run) followUp(ctx context.Context, w, f *row) error {
	for _, s := range r.e.layout.types[f.typ].sources {
		at, err := r.pointsTo(ctx, f, s.relation)
		if err != nil {
			return err
		}
		if at != w.id {
			continue
		}
		for _, slot := range s.slots {
			if f.cur.slots[slot] != w.cur.slots[slot] {
				r.touch(f)
				f.setSlot(slot, w.cur.slots[slot])
			}
		}
	}
	return nil
}

// nobody stands for an id where there is none; Scope:0 is stored as 0.
const nobody int64 = -1 << 62

// pointsTo returns the id a to-one relation of a row holds, or nobody.
func (r *run) pointsTo(ctx context.Context, f *row, a *meta.Attr) (int64, error) {
	if a.Place.Kind == meta.InColumn {
		if id, ok := f.cur.ref(a.Place.Slot); ok {
			return id, nil
		}
		return nobody, nil
	}
	h, err := r.linksOf(ctx, f.typ, f.id, a.Place.Code)
	if err != nil {
		return nobody, err
	}
	if l := h.one(a.Place.Code); l != nil {
		return l.to, nil
	}
	return nobody, nil
}

// loadBehind locks and loads the followers of assets, and theirs.
func (r *run) loadBehind(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		var todo []int64
		for _, id := range ids {
			if !r.looked[id] {
				r.looked[id] = true
				todo = append(todo, id)
			}
		}
		var next []int64
		for len(todo) > 0 {
			n := min(len(todo), db.MaxIn)
			found, err := r.followersOf(ctx, todo[:n])
			if err != nil {
				return fmt.Errorf("load followers: %w", err)
			}
			next, todo = append(next, found...), todo[n:]
		}
		ids = next
	}
	return nil
}

// followersOf loads the assets that copy from those with the given ids.
func (r *run) followersOf(ctx context.Context, ids []int64) ([]int64, error) {
	pairs, err := r.followersByColumn(ctx, ids)
	if err != nil {
		return nil, err
	}
	linked, err := r.followersByLink(ctx, ids)
	if err != nil {
		return nil, err
	}
	pairs = append(pairs, linked...)
	followers := make([]int64, 0, len(pairs))
	for _, p := range pairs {
		followers = append(followers, p.follower)
	}
	load := followers[:0:0]
	for _, id := range followers {
		if r.rows[id] == nil {
			load = append(load, id)
		}
	}
	if err := r.loadRows(ctx, load); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		if f := r.rows[p.follower]; f != nil && !slices.Contains(r.behind[p.followed], f) {
			r.behind[p.followed] = append(r.behind[p.followed], f)
		}
	}
	return followers, nil
}

type following struct{ followed, follower int64 }

// followersByColumn finds followers whose relation has a column of its own.
func (r *run) followersByColumn(ctx context.Context, ids []int64) ([]following, error) {
	types := map[int][]int64{} // by slot
	for _, rule := range r.e.layout.rules {
		if p := rule.relation.Place; p.Kind == meta.InColumn {
			types[p.Slot] = append(types[p.Slot], int64(rule.follower.Code))
		}
	}
	in, args := db.InArgs(ids)
	var all []following
	for slot, codes := range types {
		name := r.e.layout.slots[slot].Name
		typeIn, typeArgs := db.InArgs(codes)
		rows, err := r.s.tx.Query(ctx, `SELECT `+name+`, id FROM asset WHERE `+name+` IN `+in+` AND type IN `+typeIn+` ORDER BY id`,
			append(args[:len(args):len(args)], typeArgs...)...)
		if err != nil {
			return nil, err
		}
		if err := each(rows, func() error { return scanFollowing(rows, &all) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// followersByLink finds followers whose relation lies in asset_link.
func (r *run) followersByLink(ctx context.Context, ids []int64) ([]following, error) {
	seen := map[int64]bool{}
	var codes []int64
	for _, rule := range r.e.layout.rules {
		if p := rule.relation.Place; p.Kind == meta.InLinks && !seen[int64(p.Code)] {
			seen[int64(p.Code)] = true
			codes = append(codes, int64(p.Code))
		}
	}
	codeIn, args := db.InArgs(codes)
	in, idArgs := db.InArgs(ids)
	args = append(append(args, idArgs...), forever)
	rows, err := r.s.tx.Query(ctx, `SELECT to_id, from_id FROM asset_link WHERE relation IN `+codeIn+
		` AND to_id IN `+in+` AND until_moment = ? ORDER BY from_id`, args...)
	if err != nil {
		return nil, err
	}
	var all []following
	err = each(rows, func() error { return scanFollowing(rows, &all) })
	return all, err
}

func scanFollowing(rows *db.Rows, all *[]following) error {
	var p following
	err := rows.Scan(&p.followed, &p.follower)
	*all = append(*all, p)
	return err
}
