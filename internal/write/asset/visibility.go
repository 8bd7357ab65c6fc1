package asset

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/sqlgen"
)

// What lies in a deleted project, or in one below it, is hidden without being
// written. scope_hidden says of each project from which moment to which it was,
// by which deleted project: the project itself, or one above it.

// isHidden is the condition that a row of asset lies in a hidden project, as far
// as the actor's cache knows.
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

// sees reports whether an actor may read what lies in a security scope.
func sees(who auth.Actor, scope *int64) bool {
	return scope == nil || who.Reads(*scope)
}

// hidesScopes reports whether an operation on a project hides what is in it, or
// may show it again.
func hidesScopes(op *meta.Op) bool { return op.Effect.To == meta.StateDeleted || op.Effect.Back }
