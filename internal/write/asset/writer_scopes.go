package asset

import (
	"context"
	"fmt"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// scopes writes the changes of the project tree. New projects come before moves, because a move
// may involve a new project.
func (w *writer) scopes(ctx context.Context) error {
	if err := w.writeAncestry(ctx, w.changes.closure); err != nil {
		return err
	}
	for _, row := range w.changes.movedScopes {
		if err := w.writeMove(ctx, row, row.cur.moment); err != nil {
			return err
		}
	}
	return nil
}

// writeMove moves a project and all projects below it from its old ancestors to its new
// ancestors.
func (w *writer) writeMove(ctx context.Context, moved *row, at moment) error {
	const descendants = `SELECT descendant_id, depth FROM scope_closure WHERE ancestor_id = ? AND until_moment = ?`
	const ancestors = `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ?`
	below, downs, err := w.closure(ctx, descendants, moved.id)
	if err != nil {
		return err
	}
	old, _, err := w.closure(ctx, ancestors+` AND depth > 0`, moved.id)
	if err != nil {
		return err
	}
	for _, id := range old {
		if err := w.endAncestry(ctx, id, below, int64(at)); err != nil {
			return err
		}
	}

	parent, ok := moved.typ.Attr("Parent")
	if !ok {
		return nil
	}
	id, ok := moved.cur.ref(parent.Place.Slot)
	if !ok {
		return nil
	}
	above, ups, err := w.closure(ctx, ancestors, id)
	if err != nil {
		return err
	}
	var begun []ancestry
	for i, up := range above {
		for k, down := range below {
			begun = append(begun, ancestry{up, down, ups[i] + 1 + downs[k], at})
		}
	}
	if err := w.writeAncestry(ctx, begun); err != nil {
		return err
	}
	return w.hide(ctx, below, hideBelow+` c.since_moment = `+strconv.FormatInt(int64(at), 10)+` AND c.descendant_id IN `)
}

// closure runs a query for the ids of projects and their distances from a project (depth).
func (w *writer) closure(ctx context.Context, query string, id int64) (ids []int64, depths []int, err error) {
	err = db.Each(ctx, w.tx, query, []any{id, db.Forever}, func(scan db.Scanner) error {
		var id int64
		var depth int
		err := scan.Scan(&id, &depth)
		ids, depths = append(ids, id), append(depths, depth)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("scope closure: %w", err)
	}
	return ids, depths, nil
}

// endAncestry ends the rows of scope_closure between an ancestor and the projects below it. If
// the ancestor was deleted, it no longer hides these projects.
func (w *writer) endAncestry(ctx context.Context, ancestor int64, below []int64, moment int64) error {
	for in, args := range db.InChunks(below) {
		args = append([]any{moment, ancestor, db.Forever}, args...)
		for _, query := range [...]string{
			`UPDATE scope_closure SET until_moment = ? WHERE ancestor_id = ? AND until_moment = ? AND descendant_id IN `,
			`UPDATE scope_hidden SET until_moment = ? WHERE by_id = ? AND until_moment = ? AND scope_id IN `,
		} {
			if _, err := w.tx.Exec(ctx, query+in, args...); err != nil {
				return fmt.Errorf("end scope closure: %w", err)
			}
		}
	}
	return nil
}

var closureColumns = []string{"ancestor_id", "descendant_id", "since_moment", "until_moment", "depth"}

func (w *writer) writeAncestry(ctx context.Context, all []ancestry) error {
	args := make([]any, len(closureColumns))
	err := db.InsertN(ctx, w.tx, "scope_closure", closureColumns, len(all), func(i int) []any {
		a := all[i]
		args[0], args[1], args[2], args[3], args[4] = a.ancestor, a.descendant, w.moment(a.since), db.Forever, a.depth
		return args
	})
	if err != nil {
		return fmt.Errorf("write scope closure: %w", err)
	}
	return nil
}

// hidden updates scope_hidden for the projects that the batch has deleted, restored or made. The
// tree of projects is locked.
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

	show := `UPDATE scope_hidden SET until_moment = (SELECT a.moment FROM asset a WHERE a.id = by_id)` +
		` WHERE until_moment = ? AND by_id IN `
	if err := w.hide(ctx, restored, show); err != nil {
		return err
	}
	if err := w.hide(ctx, deleted, hideBelow+` c.ancestor_id IN `); err != nil {
		return err
	}
	return w.hide(ctx, made, hideBelow+` c.descendant_id IN `)
}

// hideBelow hides deleted projects and all projects below them, from the deletion on. A project
// that came below a deleted project later is hidden from that moment on.
const hideBelow = `INSERT INTO scope_hidden (scope_id, by_id, since_moment, until_moment)` +
	` SELECT c.descendant_id, a.id,` +
	` CASE WHEN c.since_moment > a.moment THEN c.since_moment ELSE a.moment END, c.until_moment` +
	` FROM scope_closure c JOIN asset a ON a.id = c.ancestor_id AND a.state = 255 WHERE c.until_moment = ? AND`

// hide runs a statement that hides projects or shows them again. The statement ends in IN; hide
// appends the ids.
func (w *writer) hide(ctx context.Context, ids []int64, query string) error {
	for in, args := range db.InChunks(ids) {
		w.s.scopesHidden = true
		if _, err := w.tx.Exec(ctx, query+in, append([]any{db.Forever}, args...)...); err != nil {
			return fmt.Errorf("write hidden projects: %w", err)
		}
	}
	return nil
}
