package check

import (
	"context"
	"sync"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// known is what the migrations make, which no test changes.
var known struct {
	sync.Mutex
	built *built
}

// RunIn is Run inside a transaction that the test rolls back.
func RunIn(ctx context.Context, tx *db.Tx, m *meta.Model) ([]Finding, error) {
	known.Lock()
	defer known.Unlock()
	c := newChecker(tx, m)
	c.built = known.built
	found, err := walk(ctx, c, rules, func(Step) {})
	known.built = c.built
	return found, err
}
