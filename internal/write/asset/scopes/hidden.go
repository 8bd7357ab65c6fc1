package scopes

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
)

// IsHidden returns the SQL condition that is true if a row of asset is in a hidden project. It
// uses the cache of hidden projects in who, if there is one.
func IsHidden(who auth.Actor) string {
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

// Hide updates scope_hidden for projects that were deleted, restored or created (made). The
// caller has already written the rows of these projects and their rows of scope_closure.
func Hide(ctx context.Context, tx *db.Tx, deleted, restored, made []int64) error {
	show := `UPDATE scope_hidden SET until_moment = (SELECT a.moment FROM asset a WHERE a.id = by_id)` +
		` WHERE until_moment = ? AND by_id IN `
	if err := hide(ctx, tx, restored, show); err != nil {
		return err
	}
	if err := hide(ctx, tx, deleted, hideBelow+` c.ancestor_id IN `); err != nil {
		return err
	}
	return hide(ctx, tx, made, hideBelow+` c.descendant_id IN `)
}

// hideBelow hides deleted projects and all projects below them, from the deletion on. If a
// project was moved below a deleted project later, it is hidden from the move on.
const hideBelow = `INSERT INTO scope_hidden (scope_id, by_id, since_moment, until_moment)` +
	` SELECT c.descendant_id, a.id,` +
	` CASE WHEN c.since_moment > a.moment THEN c.since_moment ELSE a.moment END, c.until_moment` +
	` FROM scope_closure c JOIN asset a ON a.id = c.ancestor_id AND a.state = 255 WHERE c.until_moment = ? AND`

// hide runs a statement that hides projects or shows them again. The statement ends in IN; hide
// appends the ids.
func hide(ctx context.Context, tx *db.Tx, ids []int64, query string) error {
	for in, args := range db.InChunks(ids) {
		if _, err := tx.Exec(ctx, query+in, append([]any{db.Forever}, args...)...); err != nil {
			return fmt.Errorf("write hidden projects: %w", err)
		}
	}
	return nil
}
