package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// dependency contains the ids of two assets: dependent copies values from source, or is a part of
// source.
type dependency struct{ source, dependent int64 }

// dependencies runs a query that returns the ids of a source and a dependent in each row.
func (l *loaded) dependencies(ctx context.Context, query string, args ...any) ([]dependency, error) {
	return db.Collect(ctx, l.s.tx, query, args, func(scan db.Scanner) (p dependency, err error) {
		err = scan.Scan(&p.source, &p.dependent)
		return p, err
	})
}

// loadPairs locks and loads the dependents that are not loaded yet. It then calls fn for
// every pair whose dependent exists.
func (l *loaded) loadPairs(ctx context.Context, pairs []dependency, fn func(source int64, dependent *row)) error {
	var ids []int64
	for _, p := range pairs {
		if l.rows[p.dependent] == nil {
			ids = append(ids, p.dependent)
		}
	}
	if err := l.loadRows(ctx, ids); err != nil {
		return err
	}
	for _, p := range pairs {
		if w := l.rows[p.dependent]; w != nil {
			fn(p.source, w)
		}
	}
	return nil
}

// loadDependents locks and loads the assets that copy values from some assets, directly or
// through other assets.
func (l *loaded) loadDependents(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
			done := l.dependentsLoaded[id]
			l.dependentsLoaded[id] = true
			return done
		})

		var pairs []dependency
		for part := range slices.Chunk(ids, db.MaxIn) {
			found, err := l.dependentsOf(ctx, part)
			if err != nil {
				return fmt.Errorf("find dependents: %w", err)
			}
			pairs = append(pairs, found...)
			if err := l.mayReach(len(pairs)); err != nil {
				return err
			}
		}

		known := map[dependency]bool{}
		for _, source := range ids {
			for _, w := range l.dependents[source] {
				known[dependency{source, w.id}] = true
			}
		}
		err := l.loadPairs(ctx, pairs, func(source int64, w *row) {
			if p := (dependency{source, w.id}); !known[p] {
				known[p] = true
				l.dependents[source] = append(l.dependents[source], w)
			}
		})
		if err != nil {
			return fmt.Errorf("load dependents: %w", err)
		}

		ids = ids[:0]
		for _, p := range pairs {
			ids = append(ids, p.dependent)
		}
	}
	return nil
}

// dependentsOf finds the assets that copy values from some assets. The relations by which they copy
// are stored in columns or as links.
func (l *loaded) dependentsOf(ctx context.Context, ids []int64) ([]dependency, error) {
	types := map[int][]int64{}    // key: slot of the relation; value: codes of the dependent types
	relations := map[int64]bool{} // key: code of a relation that is stored as links
	for _, rule := range l.s.e.layout.dependentRules {
		switch p := rule.relation.Place; p.Kind {
		case meta.InColumn:
			types[p.Slot] = append(types[p.Slot], int64(rule.dependent.Code))
		case meta.InLinks:
			relations[int64(p.Code)] = true
		}
	}
	in, args := db.InArgs(ids)
	var all []dependency
	for slot, codes := range types {
		name := l.s.e.layout.Slots[slot].Name
		typeIn, typeArgs := db.InArgs(codes)
		query := `SELECT ` + name + `, id FROM asset WHERE ` + name + ` IN ` + in + ` AND type IN ` + typeIn + ` ORDER BY id`
		found, err := l.dependencies(ctx, query, slices.Concat(args, typeArgs)...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	relationIn, relationArgs := db.InArgs(slices.Sorted(maps.Keys(relations)))
	found, err := l.dependencies(ctx, `SELECT to_id, from_id FROM asset_link WHERE relation IN `+relationIn+
		` AND to_id IN `+in+` AND until_moment = ? ORDER BY from_id`, slices.Concat(relationArgs, args, []any{db.Forever})...)
	return append(all, found...), err
}

// childrenOf locks and returns the tasks and tests of an asset, except deleted ones.
func (l *loaded) childrenOf(ctx context.Context, w *row) ([]*row, error) {
	if err := l.loadDependents(ctx, []int64{w.id}); err != nil {
		return nil, err
	}
	var children []*row
	known := map[*row]bool{}
	for _, child := range l.dependents[w.id] {
		up, ok := child.typ.Attr("Parent")
		if !ok || l.rows[child.id] != child || child.cur.code == meta.StateDeleted || known[child] {
			continue
		}
		at, err := l.pointsTo(ctx, child, up)
		if err != nil {
			return nil, err
		}
		if at == w.id {
			known[child] = true
			children = append(children, child)
		}
	}
	return children, nil
}
