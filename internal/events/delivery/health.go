package delivery

import (
	"context"
	"database/sql"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// Health is the state of the deliveries of a subscription, as clients read it.
// Spec: interface 2.6.
type Health struct {
	// State is "healthy", "behind", "resting" (the breaker is open), "paused" or "disabled".
	State        string `json:"state"`
	DueSince     string `json:"dueSince,omitempty"`      // when the oldest delivery became due; only with "behind"
	RestingUntil string `json:"restingUntil,omitempty"`  // end of the backoff of the breaker; only with "resting"
	Failures     int    `json:"failuresInRow,omitempty"` // failed attempts since the last success
	Waiting      int64  `json:"waiting"`                 // number of waiting deliveries
	// LastLatency is how many seconds the last successful delivery took until the answer of the
	// receiver. The time begins with the commit of the changes, or with the request to deliver
	// again. It is nil if no successful delivery is stored.
	LastLatency *float64 `json:"lastLatency,omitempty"`
}

// behindAfter is how long a delivery may be due before its subscription is "behind".
const behindAfter = time.Minute

// Healths returns the health of subscriptions by id. Deleted subscriptions are not in the result.
func (s *Store) Healths(ctx context.Context, q db.Querier, ids []string) (map[string]Health, error) {
	all := make(map[string]Health, len(ids))
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, q, `SELECT s.id, s.enabled, s.paused, s.failures_in_row, s.breaker_until, `+s.db.Dialect.NowMicros+`,
			(SELECT MIN(o.due) FROM webhook_delivery o WHERE o.state = 0 AND o.subscription_id = s.id),
			(SELECT COUNT(*) FROM webhook_delivery w WHERE w.state = 0 AND w.subscription_id = s.id),
			(SELECT d.settled_at - d.created_at FROM webhook_delivery d WHERE d.state = 1 AND d.subscription_id = s.id ORDER BY d.due DESC, d.id DESC LIMIT 1)
			FROM webhook_subscription s WHERE s.id IN `+in, args, func(row db.Scanner) error {
			var id string
			var h Health
			var enabled, paused bool
			var until, now int64
			var oldest, latency sql.NullInt64
			err := row.Scan(&id, &enabled, &paused, &h.Failures, &until, &now, &oldest, &h.Waiting, &latency)
			switch h.State = "healthy"; {
			case !enabled:
				h.State = "disabled"
			case paused:
				h.State = "paused"
			case until > now:
				h.State, h.RestingUntil = "resting", Instant(until)
			case oldest.Valid && oldest.Int64 < now-behindAfter.Microseconds():
				h.State, h.DueSince = "behind", Instant(oldest.Int64)
			}
			if latency.Valid {
				seconds := float64(max(latency.Int64, 0)) / 1e6
				h.LastLatency = &seconds
			}
			all[id] = h
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
