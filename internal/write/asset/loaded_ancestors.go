package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/scopes"
)

// lockTrees locks the trees and rank spaces that a batch reorders. Without the locks, two
// concurrent moves could form a cycle or get the same rank.
func (l *loaded) lockTrees(ctx context.Context, trees map[string]bool) error {
	for _, tree := range slices.Sorted(maps.Keys(trees)) {
		if l.locked[tree] {
			continue
		}
		if err := lockNamed(ctx, l.s.tx, tree); err != nil {
			return err
		}
		l.locked[tree] = true
	}
	return nil
}

// lockNamed locks the row of tree_lock with a name until the transaction ends. The row
// represents a tree, a rank space, or other data that is checked as a whole.
func lockNamed(ctx context.Context, tx *db.Tx, name string) error {
	n, err := tx.Lock(ctx, "tree_lock", "name = ?", name)
	if err == nil && n == 0 { // the row does not exist yet
		_, err = tx.Exec(ctx, `INSERT INTO tree_lock (name, lock_count) VALUES (?, 1)`+
			` ON DUPLICATE KEY UPDATE lock_count = lock_count + 1`, name)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	return nil
}

// parentOf returns the id of the parent of an asset, or noID if there is no parent. slot is the
// slot of the column that refers to the parent.
func (l *loaded) parentOf(ctx context.Context, id int64, slot int) (int64, error) {
	if w := l.rows[id]; w != nil {
		return w.cur.refOr(slot), nil
	}
	key := parentKey{id, slot}
	if up, ok := l.parents[key]; ok {
		return up, nil
	}
	var up *int64
	err := l.s.tx.QueryRow(ctx, `SELECT `+l.s.e.layout.Slots[slot].Name+` FROM asset WHERE id = ?`, id).Scan(&up)
	if err != nil {
		return 0, err
	}
	l.parents[key] = noID
	if up != nil {
		l.parents[key] = *up
	}
	return l.parents[key], nil
}

// loadAncestors reads the current rows of scope_closure for a project: the project itself
// and all projects above it.
func (l *loaded) loadAncestors(ctx context.Context, id int64) error {
	if _, ok := l.ancestors[id]; ok {
		return nil
	}
	above, err := scopes.Ancestors(ctx, l.s.tx, id)
	l.ancestors[id] = make([]ancestry, len(above))
	for i, up := range above {
		l.ancestors[id][i] = ancestry{ancestor: up.Ancestor, descendant: id, depth: up.Depth}
	}
	return err
}
