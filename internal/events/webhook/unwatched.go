package webhook

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// lookEvery is how often Unwatched looks.
const lookEvery = 2 * time.Second

// Unwatched knows the generation of the subscriptions at which none is enabled.
// What is written at it needs no fan-out. It is safe for concurrent use.
type Unwatched struct {
	db         *db.DB
	generation atomic.Int64
}

// NewUnwatched returns one that knows nothing until it has looked.
func NewUnwatched(d *db.DB) *Unwatched {
	u := &Unwatched{db: d}
	u.generation.Store(-1)
	return u
}

// Generation returns the generation, or -1 where a subscription was enabled when
// it was looked last. It stays true: every change of a subscription makes another.
func (u *Unwatched) Generation() int64 { return u.generation.Load() }

// Look reads the generation and whether a subscription is enabled, as of one
// instant.
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

// Run looks until ctx ends. Where it cannot, the fan-out finds that it has nothing
// to do.
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
