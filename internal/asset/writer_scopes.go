package asset

import (
	"context"
	"fmt"
	"strconv"

	"github.com/alds-dev/alds/internal/db"
)

// scopes writes the project tree: new projects, then moves, which have to see them.
func (w *writer) scopes(ctx context.Context) error {
	for i := range w.changes.closure {
		w.changes.closure[i].since = w.moment(w.changes.closure[i].since)
	}
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

// writeMove ends what a moved project's tree hung on before and hangs it on
// its new ancestors.
func (w *writer) writeMove(ctx context.Context, moved *row, moment int64) error {
	below, err := w.closureIDs(ctx, `SELECT descendant_id, depth FROM scope_closure WHERE ancestor_id = ? AND until_moment = ?`, moved.id)
	if err != nil {
		return err
	}
	old, err := w.closureIDs(ctx, `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ? AND depth > 0`, moved.id)
	if err != nil {
		return err
	}
	for _, up := range old {
		if err := w.endAncestry(ctx, up.id, below, moment); err != nil {
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
	above, err := w.closureIDs(ctx, `SELECT ancestor_id, depth FROM scope_closure WHERE descendant_id = ? AND until_moment = ?`, id)
	if err != nil {
		return err
	}
	var fresh []ancestry
	for _, up := range above {
		for _, down := range below {
			fresh = append(fresh, ancestry{up.id, down.id, up.depth + 1 + down.depth, moment})
		}
	}
	if err := w.writeAncestry(ctx, fresh); err != nil {
		return err
	}
	return w.hideMoved(ctx, below, moment)
}

type depthOf struct {
	id    int64
	depth int
}

func (w *writer) closureIDs(ctx context.Context, query string, id int64) ([]depthOf, error) {
	rows, err := w.tx.Query(ctx, query, id, forever)
	if err != nil {
		return nil, fmt.Errorf("scope closure: %w", err)
	}
	var all []depthOf
	err = each(rows, func() error {
		var d depthOf
		err := rows.Scan(&d.id, &d.depth)
		all = append(all, d)
		return err
	})
	return all, err
}

func (w *writer) endAncestry(ctx context.Context, ancestor int64, below []depthOf, moment int64) error {
	for len(below) > 0 {
		n := min(len(below), db.MaxIn)
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = below[i].id
		}
		below = below[n:]
		in, args := db.InArgs(ids)
		_, err := w.tx.Exec(ctx, `UPDATE scope_closure SET until_moment = ? WHERE ancestor_id = ? AND until_moment = ? AND descendant_id IN `+in,
			append([]any{moment, ancestor, forever}, args...)...)
		if err != nil {
			return fmt.Errorf("end scope closure: %w", err)
		}
		if err := w.showMoved(ctx, ancestor, in, args, moment); err != nil {
			return err
		}
	}
	return nil
}

var closureColumns = []string{"ancestor_id", "descendant_id", "since_moment", "until_moment", "depth"}

func (w *writer) writeAncestry(ctx context.Context, all []ancestry) error {
	args := make([]any, len(closureColumns))
	err := db.InsertN(ctx, w.tx, "scope_closure", closureColumns, len(all), func(i int) []any {
		a := all[i]
		args[0], args[1], args[2], args[3], args[4] = a.ancestor, a.descendant, a.since, forever, a.depth
		return args
	})
	if err != nil {
		return fmt.Errorf("write scope closure: %w", err)
	}
	return nil
}

// hidden brings scope_hidden up to date with the projects that the run deleted,
// brought back, made or moved. The tree of projects is locked.
func (w *writer) hidden(ctx context.Context) error {
	var gone, back, placed []int64
	for _, c := range w.changes.changed {
		if !c.typ.Secured.Self {
			continue
		}
		switch now, was := c.cur.code == stateDeleted, c.stored.code == stateDeleted; {
		case now && !was:
			gone = append(gone, c.id)
		case was && !now:
			back = append(back, c.id)
		}
	}
	for _, a := range w.changes.closure {
		if a.depth == 0 {
			placed = append(placed, a.descendant)
		}
	}
	for _, one := range []struct {
		ids  []int64
		show bool
		sql  string
	}{
		{back, true, `UPDATE scope_hidden SET until_moment = (SELECT a.moment FROM asset a WHERE a.id = by_id) WHERE until_moment = ? AND by_id IN `},
		{gone, false, hide + ` c.ancestor_id IN `},
		{placed, false, hide + ` c.descendant_id IN `},
	} {
		if err := w.execIn(ctx, one.ids, one.sql); err != nil {
			return fmt.Errorf("keep hidden projects: %w", err)
		}
	}
	return nil
}

// hide hides below deleted projects: from the deletion on, or from when there is
// something below.
const hide = `INSERT INTO scope_hidden (scope_id, by_id, since_moment, until_moment)` +
	` SELECT c.descendant_id, a.id, CASE WHEN c.since_moment > a.moment THEN c.since_moment ELSE a.moment END, c.until_moment` +
	` FROM scope_closure c JOIN asset a ON a.id = c.ancestor_id AND a.state = 255 WHERE c.until_moment = ? AND`

// execIn runs a statement that ends in a list of ids and begins with what is
// current.
func (w *writer) execIn(ctx context.Context, ids []int64, query string) error {
	for len(ids) > 0 {
		w.s.scopesHidden = true
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		if _, err := w.tx.Exec(ctx, query+in, append([]any{forever}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// showMoved shows what a moved project takes along out of a deleted one.
func (w *writer) showMoved(ctx context.Context, by int64, below string, args []any, moment int64) error {
	_, err := w.tx.Exec(ctx, `UPDATE scope_hidden SET until_moment = ? WHERE by_id = ? AND until_moment = ? AND scope_id IN `+below,
		append([]any{moment, by, forever}, args...)...)
	if err != nil {
		return fmt.Errorf("show moved projects: %w", err)
	}
	return nil
}

// hideMoved hides what a moved project takes along below deleted ones.
func (w *writer) hideMoved(ctx context.Context, below []depthOf, moment int64) error {
	ids := make([]int64, len(below))
	for i := range below {
		ids[i] = below[i].id
	}
	err := w.execIn(ctx, ids, hide+` c.since_moment = `+strconv.FormatInt(moment, 10)+` AND c.descendant_id IN `)
	if err != nil {
		return fmt.Errorf("hide moved projects: %w", err)
	}
	return nil
}
