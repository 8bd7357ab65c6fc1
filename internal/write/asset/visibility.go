package asset

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/sqlgen"
)

// The assets in a hidden project are hidden, but their rows do not change. A row of scope_hidden
// contains a hidden project and the moments between which it is hidden. It also contains the
// deleted project that hides it: the project itself, or a project above it.

// isHidden returns the SQL condition that a row of asset is in a hidden project. It uses the
// cache of hidden projects in who, if there is one.
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

// sees reports whether an actor may read assets with a security scope. Everyone may read assets
// without one, for which scope is nil.
func sees(who auth.Actor, scope *int64) bool {
	return scope == nil || who.Reads(*scope)
}

// hidesScopes reports whether an operation on a project may hide it or show it again.
func hidesScopes(op *meta.Op) bool { return op.Effect.To == meta.StateDeleted || op.Effect.Back }
