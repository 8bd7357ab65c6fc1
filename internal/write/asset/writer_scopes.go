package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/write/asset/scopes"
)

// scopes writes the changes of the project tree. New projects come before moves, because a move
// may involve a new project.
func (w *writer) scopes(ctx context.Context) error {
	begun := make([]scopes.Ancestry, len(w.changes.closure))
	for i, a := range w.changes.closure {
		begun[i] = scopes.Ancestry{Ancestor: a.ancestor, Descendant: a.descendant, Depth: a.depth, Since: w.moment(a.since)}
	}
	if err := scopes.Insert(ctx, w.tx, begun); err != nil {
		return err
	}
	for _, moved := range w.changes.movedScopes {
		var parent *int64
		if a, ok := moved.typ.Attr("Parent"); ok {
			if id, ok := moved.cur.ref(a.Place.Slot); ok {
				parent = &id
				w.s.scopesHidden = true
			}
		}
		if err := scopes.Move(ctx, w.tx, moved.id, parent, int64(moved.cur.moment)); err != nil {
			return err
		}
	}
	return nil
}

// hidden hides the projects that the batch has deleted, and shows the projects that it has
// restored. It also hides new projects below deleted projects.
func (w *writer) hidden(ctx context.Context) error {
	var deleted, restored, made []int64
	for _, c := range w.changes.changed {
		if !c.typ.Secured.Self {
			continue
		}
		switch now, was := c.cur.code == meta.StateDeleted, c.stored.code == meta.StateDeleted; {
		case now && !was:
			deleted = append(deleted, c.id)
		case was && !now:
			restored = append(restored, c.id)
		}
	}
	for _, a := range w.changes.closure {
		if a.depth == 0 {
			made = append(made, a.descendant)
		}
	}
	if len(deleted)+len(restored)+len(made) > 0 {
		w.s.scopesHidden = true
	}
	return scopes.Hide(ctx, w.tx, deleted, restored, made)
}
