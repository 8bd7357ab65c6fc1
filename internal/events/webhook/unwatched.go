package webhook

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// lookEvery is the pause between two calls of Look.
const lookEvery = 2 * time.Second

// Unwatched stores the generation of subscriptions if no subscription is enabled. Writes of this
// generation need no fan-out. It is safe for concurrent use.
type Unwatched struct {
	db         *db.DB
	generation atomic.Int64
}

// NewUnwatched returns an Unwatched whose generation is -1 until the first Look.
func NewUnwatched(d *db.DB) *Unwatched {
	u := &Unwatched{db: d}
	u.generation.Store(-1)
	return u
}

// Generation returns a generation at which no subscription is enabled. It returns -1 if a
// subscription was enabled at the last Look. The result stays correct, because every change of a
// subscription raises the generation.
func (u *Unwatched) Generation() int64 { return u.generation.Load() }

// Look reads the generation, and whether a subscription is enabled. It uses one statement.
func (u *Unwatched) Look(ctx context.Context) error {
	var generation int64
	var watched bool
	err := u.db.QueryRow(ctx, `SELECT value, EXISTS (SELECT 1 FROM webhook_subscription WHERE enabled = 1) FROM sequence WHERE name = 'webhook'`).
		Scan(&generation, &watched)
	if err != nil {
		return err
	}
	if watched {
		generation = -1
	}
	u.generation.Store(generation)
	return nil
}

// Run calls Look every lookEvery until ctx ends. It ignores errors, because they do no harm:
// without a new generation, writes get a fan-out that has nothing to do.
func (u *Unwatched) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		_ = u.Look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
