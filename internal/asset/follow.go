package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// copySlots gives a row the values that it copies from the asset a relation
// names.
func (r *run) copySlots(ctx context.Context, w *row, s source, t *target) error {
	if t == nil {
		for _, slot := range s.slots {
			w.setSlot(slot, nil)
		}
		return nil
	}
	if t.reference != nil && !t.reference.locked {
		if err := r.loadReferences(ctx, []int64{t.id}, r.e.db.Dialect.ForShare); err != nil {
			return err
		}
		t.reference = r.references[t.id]
	}
	for _, slot := range s.slots {
		w.setSlot(slot, t.slot(r.e.layout, slot))
	}
	r.dependents[t.id] = append(r.dependents[t.id], w)
	return nil
}

// propagate lets followers follow: what a touched asset's followers copy from it
// is copied again, and so on for what follows them.
func (r *run) propagate(ctx context.Context) error {
	for i := 0; i < len(r.changes.touched); i++ { // grows
		w := r.changes.touched[i]
		if !w.creating() {
			if !r.sourceChanged(w) {
				continue
			}
			if err := r.loadDependents(ctx, []int64{w.id}); err != nil {
				return err
			}
		}
		for _, f := range r.dependents[w.id] {
			if r.rows[f.id] != f { // its own command failed
				continue
			}
			if err := r.updateDependent(ctx, w, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// sourceChanged reports whether something others copy has changed on w.
func (r *run) sourceChanged(w *row) bool {
	for _, slot := range r.e.layout.copiedSlots {
		if w.cur.slots[slot] != w.before.slots[slot] {
			return true
		}
	}
	return false
}

// updateDependent copies to f what it follows on w, if it still does.
func (r *run) updateDependent(ctx context.Context, w, f *row) error {
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
				r.changes.touch(f)
				f.setSlot(slot, w.cur.slots[slot])
			}
		}
	}
	return nil
}

// noID stands for an id where there is none; Scope:0 is stored as 0.
const noID int64 = -1 << 62

// pointsTo returns the id a to-one relation of a row holds, or nobody.
func (r *run) pointsTo(ctx context.Context, f *row, a *meta.Attr) (int64, error) {
	if a.Place.Kind == meta.InColumn {
		if id, ok := f.cur.ref(a.Place.Slot); ok {
			return id, nil
		}
		return noID, nil
	}
	h, err := r.edgesFrom(ctx, f.typ, f.id, a.Place.Code)
	if err != nil {
		return noID, err
	}
	if l := h.one(a.Place.Code); l != nil {
		return l.to, nil
	}
	return noID, nil
}

// loadDependents locks and loads the followers of assets, and theirs.
func (r *run) loadDependents(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		var todo []int64
		for _, id := range ids {
			if !r.dependentsLoaded[id] {
				r.dependentsLoaded[id] = true
				todo = append(todo, id)
			}
		}
		var next []int64
		for len(todo) > 0 {
			n := min(len(todo), db.MaxIn)
			found, err := r.dependentsOf(ctx, todo[:n])
			if err != nil {
				return fmt.Errorf("load followers: %w", err)
			}
			next, todo = append(next, found...), todo[n:]
		}
		ids = next
	}
	return nil
}

// dependentsOf loads the assets that copy from those with the given ids.
func (r *run) dependentsOf(ctx context.Context, ids []int64) ([]int64, error) {
	pairs, err := r.dependentsByColumn(ctx, ids)
	if err != nil {
		return nil, err
	}
	linked, err := r.dependentsByLink(ctx, ids)
	if err != nil {
		return nil, err
	}
	pairs = append(pairs, linked...)
	followers := make([]int64, 0, len(pairs))
	for _, p := range pairs {
		followers = append(followers, p.dependent)
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
		if f := r.rows[p.dependent]; f != nil && !slices.Contains(r.dependents[p.source], f) {
			r.dependents[p.source] = append(r.dependents[p.source], f)
		}
	}
	return followers, nil
}

type dependency struct{ source, dependent int64 }

// dependentsByColumn finds followers whose relation has a column of its own.
func (r *run) dependentsByColumn(ctx context.Context, ids []int64) ([]dependency, error) {
	types := map[int][]int64{} // by slot
	for _, rule := range r.e.layout.dependentRules {
		if p := rule.relation.Place; p.Kind == meta.InColumn {
			types[p.Slot] = append(types[p.Slot], int64(rule.dependent.Code))
		}
	}
	in, args := db.InArgs(ids)
	var all []dependency
	for slot, codes := range types {
		name := r.e.layout.slots[slot].Name
		typeIn, typeArgs := db.InArgs(codes)
		rows, err := r.s.tx.Query(ctx, `SELECT `+name+`, id FROM asset WHERE `+name+` IN `+in+` AND type IN `+typeIn+` ORDER BY id`,
			append(args[:len(args):len(args)], typeArgs...)...)
		if err != nil {
			return nil, err
		}
		if err := each(rows, func() error { return scanDependency(rows, &all) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// dependentsByLink finds followers whose relation lies in asset_link.
func (r *run) dependentsByLink(ctx context.Context, ids []int64) ([]dependency, error) {
	seen := map[int64]bool{}
	var codes []int64
	for _, rule := range r.e.layout.dependentRules {
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
	var all []dependency
	err = each(rows, func() error { return scanDependency(rows, &all) })
	return all, err
}

func scanDependency(rows *db.Rows, all *[]dependency) error {
	var p dependency
	err := rows.Scan(&p.source, &p.dependent)
	*all = append(*all, p)
	return err
}
