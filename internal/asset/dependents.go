package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

type dependency struct{ source, dependent int64 }

func scanDependency(rows *db.Rows, all *[]dependency) error {
	var p dependency
	err := rows.Scan(&p.source, &p.dependent)
	*all = append(*all, p)
	return err
}

// loadDependents locks and loads the followers of assets, and theirs.
func (l *loaded) loadDependents(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		var todo []int64
		for _, id := range ids {
			if !l.dependentsLoaded[id] {
				l.dependentsLoaded[id] = true
				todo = append(todo, id)
			}
		}
		var next []int64
		for len(todo) > 0 {
			n := min(len(todo), db.MaxIn)
			found, err := l.dependentsOf(ctx, todo[:n])
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
func (l *loaded) dependentsOf(ctx context.Context, ids []int64) ([]int64, error) {
	pairs, err := l.dependentsByColumn(ctx, ids)
	if err != nil {
		return nil, err
	}
	linked, err := l.dependentsByLink(ctx, ids)
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
		if l.rows[id] == nil {
			load = append(load, id)
		}
	}
	if err := l.loadRows(ctx, load); err != nil {
		return nil, err
	}
	for _, p := range pairs {
		if f := l.rows[p.dependent]; f != nil && !slices.Contains(l.dependents[p.source], f) {
			l.dependents[p.source] = append(l.dependents[p.source], f)
		}
	}
	return followers, nil
}

// dependentsByColumn finds followers whose relation has a column of its own.
func (l *loaded) dependentsByColumn(ctx context.Context, ids []int64) ([]dependency, error) {
	types := map[int][]int64{} // by slot
	for _, rule := range l.s.e.layout.dependentRules {
		if p := rule.relation.Place; p.Kind == meta.InColumn {
			types[p.Slot] = append(types[p.Slot], int64(rule.dependent.Code))
		}
	}
	in, args := db.InArgs(ids)
	var all []dependency
	for slot, codes := range types {
		name := l.s.e.layout.slots[slot].Name
		typeIn, typeArgs := db.InArgs(codes)
		rows, err := l.s.tx.Query(ctx, `SELECT `+name+`, id FROM asset WHERE `+name+` IN `+in+` AND type IN `+typeIn+` ORDER BY id`,
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
func (l *loaded) dependentsByLink(ctx context.Context, ids []int64) ([]dependency, error) {
	seen := map[int64]bool{}
	var codes []int64
	for _, rule := range l.s.e.layout.dependentRules {
		if p := rule.relation.Place; p.Kind == meta.InLinks && !seen[int64(p.Code)] {
			seen[int64(p.Code)] = true
			codes = append(codes, int64(p.Code))
		}
	}
	codeIn, args := db.InArgs(codes)
	in, idArgs := db.InArgs(ids)
	args = append(append(args, idArgs...), forever)
	rows, err := l.s.tx.Query(ctx, `SELECT to_id, from_id FROM asset_link WHERE relation IN `+codeIn+
		` AND to_id IN `+in+` AND until_moment = ? ORDER BY from_id`, args...)
	if err != nil {
		return nil, err
	}
	var all []dependency
	err = each(rows, func() error { return scanDependency(rows, &all) })
	return all, err
}

// childrenOf returns the tasks and tests of an asset that are not deleted,
// locked for change.
func (l *loaded) childrenOf(ctx context.Context, w *row) ([]*row, error) {
	if err := l.loadDependents(ctx, []int64{w.id}); err != nil {
		return nil, err
	}
	var below []*row
	for _, f := range l.dependents[w.id] {
		up, ok := f.typ.Attr("Parent")
		if !ok || l.rows[f.id] != f || f.cur.code == stateDeleted || slices.Contains(below, f) {
			continue
		}
		at, err := l.pointsTo(ctx, f, up)
		if err != nil {
			return nil, err
		}
		if at == w.id {
			below = append(below, f)
		}
	}
	return below, nil
}
