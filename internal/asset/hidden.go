package asset

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/sqlgen"
)

// What lies in a deleted project, or in one below it, is hidden without being
// written. scope_hidden says of each project from which moment to which it was,
// by which deleted project: the project itself, or one above it.

// isHidden is the condition that a row of asset lies in a hidden project, as far
// as who asks knows.
func isHidden(who auth.Actor) string {
	const scope = "asset.scope_id"
	if who.Hidden == nil {
		return sqlgen.InHidden(scope)
	}
	if len(who.Hidden.Now) == 0 {
		return "0"
	}
	ids := make([]string, len(who.Hidden.Now))
	for i, id := range who.Hidden.Now {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return "(" + scope + " IS NOT NULL AND " + scope + " IN (" + strings.Join(ids, ", ") + "))"
}

// hidesScopes reports whether an operation on a project hides what is in it, or may
// show it again.
func hidesScopes(op *meta.Op) bool { return op.Effect.To == stateDeleted || op.Effect.Back }

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
