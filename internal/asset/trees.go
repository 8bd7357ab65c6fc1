package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// roleSystemAdmin is what the creator of a project becomes in it, and
// roleTeamMember what a member without a default role does. Shown ids.
const (
	roleSystemAdmin = 1
	roleTeamMember  = 4
)

// ancestry is a row of scope_closure to be written.
type ancestry struct {
	ancestor, descendant int64
	depth                int
	since                int64 // negative until the run is written
}

// lockTrees takes the locks of the trees and rank spaces that a stretch
// reorders, so that two moves at once cannot make a cycle or come to the same
// place.
func (l *loaded) lockTrees(ctx context.Context, trees map[string]bool) error {
	for _, tree := range slices.Sorted(maps.Keys(trees)) {
		if l.locked[tree] {
			continue
		}
		err := l.lockTree(ctx, tree)
		if fault.KindOf(err) == fault.NotFound { // a rank space is ranked in for the first time
			err = db.UpsertN(ctx, l.s.tx, "tree_lock", []string{"name"}, []string{"name"}, nil, 1, func(int) []any { return []any{tree} })
		}
		if err != nil {
			return fmt.Errorf("lock tree %s: %w", tree, err)
		}
		l.locked[tree] = true
	}
	return nil
}

func (l *loaded) lockTree(ctx context.Context, tree string) error {
	var name string
	return l.s.tx.QueryRow(ctx, `SELECT name FROM tree_lock WHERE name = ?`+l.s.e.db.Dialect.ForUpdate, tree).Scan(&name)
}

type parentKey struct {
	id   int64
	slot int
}

// parentOf returns the id in an upward column of an asset.
func (l *loaded) parentOf(ctx context.Context, id int64, slot int) (int64, error) {
	if w := l.rows[id]; w != nil {
		if up, ok := w.cur.ref(slot); ok {
			return up, nil
		}
		return noID, nil
	}
	key := parentKey{id, slot}
	if up, ok := l.parents[key]; ok {
		return up, nil
	}
	var up *int64
	err := l.s.tx.QueryRow(ctx, `SELECT `+l.s.e.layout.slots[slot].Name+` FROM asset WHERE id = ?`, id).Scan(&up)
	if err != nil {
		return 0, err
	}
	if up != nil {
		l.parents[key] = *up
		return *up, nil
	}
	l.parents[key] = noID
	return noID, nil
}

// ancestorsOf returns a project and all above it.
func (l *loaded) ancestorsOf(ctx context.Context, id int64) ([]ancestry, error) {
	if own, ok := l.ancestors[id]; ok {
		return own, nil
	}
	rows, err := l.s.tx.Query(ctx, `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ?`, id, forever)
	if err != nil {
		return nil, fmt.Errorf("scope ancestors: %w", err)
	}
	var own []ancestry
	err = each(rows, func() error {
		up := ancestry{descendant: id}
		err := rows.Scan(&up.ancestor, &up.depth)
		own = append(own, up)
		return err
	})
	l.ancestors[id] = own
	return own, err
}

// membership returns the relation of projects to their members.
func (l *loaded) membership() (*meta.Attr, bool) {
	t, ok := l.s.e.model.Type("Scope")
	if !ok {
		return nil, false
	}
	return t.Attr("Members")
}

func (l *loaded) roleID(shown int64) int64 {
	if t, ok := l.s.e.model.Type("Role"); ok {
		return t.Stored(shown)
	}
	return shown
}
