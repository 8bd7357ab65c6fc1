package delivery

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/alds-dev/alds/internal/db"
)

// Wake delivers what is due to one subscription.
func (s *Sender) Wake(subscription string) { s.lanes.wake(subscription) }

// Sweep wakes a lane for every subscription with deliveries that are due, in no
// order, so that no subscription is always last.
func (s *Sender) Sweep(ctx context.Context) error {
	ids, err := s.dueSubscriptions(ctx)
	if err != nil {
		return err
	}
	s.metrics.due.Set(float64(len(ids)))
	if err := s.measureFailing(ctx); err != nil {
		return err
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		if !s.lanes.wake(id) {
			return nil
		}
	}
	return nil
}

// dueSubscriptions lists the subscriptions with something due that may be sent
// or must be dropped.
func (s *Sender) dueSubscriptions(ctx context.Context) ([]string, error) {
	now, err := clock(ctx, s.db, s.db.Dialect)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, "SELECT subscription_id, MIN(due) FROM webhook_delivery WHERE state = 0 GROUP BY subscription_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		var due int64
		if err := rows.Scan(&id, &due); err != nil {
			return nil, err
		}
		if due <= now {
			ids = append(ids, id)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	return s.open(ctx, ids)
}

// open leaves out subscriptions that are paused or whose breaker is open.
func (s *Sender) open(ctx context.Context, ids []string) ([]string, error) {
	closed := map[string]bool{}
	for part := range slices.Chunk(ids, db.MaxIn) {
		in, args := db.InArgsOf(part)
		rows, err := s.db.Query(ctx, "SELECT id FROM webhook_subscription WHERE id IN "+in+
			" AND enabled = 1 AND (paused = 1 OR breaker_until > "+s.db.Dialect.NowMicros+")", args...)
		if err != nil {
			return nil, err
		}
		if err := each(rows, func(id string) { closed[id] = true }); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return closed[id] }), nil
}
