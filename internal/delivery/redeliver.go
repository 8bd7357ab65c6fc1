package delivery

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// againRows is how many deliveries one transaction of Again makes wait.
const againRows = 500

// Which names deliveries of one subscription.
type Which struct {
	Delivery string // one of them
	Receipt  string // or the one this attempt was of
	Since    int64  // or those whose newest change was committed from here
	Until    int64  // up to and including there
}

// Again makes deliveries wait once more, whatever became of them, due at once
// and with all their attempts before them, and returns how many those are.
// Receivers see the ids they saw before.
// Errors: fault.NotFound when there is no such delivery or receipt any more.
func (s *Store) Again(ctx context.Context, subscription string, w Which) (int, error) {
	if w.Receipt != "" {
		err := s.db.QueryRow(ctx, "SELECT delivery_id FROM webhook_receipt WHERE id = ? AND subscription_id = ?",
			w.Receipt, subscription).Scan(&w.Delivery)
		if err != nil {
			return 0, err
		}
	}
	if w.Delivery != "" {
		n, err := s.again(ctx, subscription, []string{w.Delivery})
		if err == nil && n == 0 {
			err = fault.NotFoundf("Not Found")
		}
		return n, err
	}
	total, last := 0, ""
	for {
		rows, err := s.db.Query(ctx, `SELECT id FROM webhook_delivery WHERE subscription_id = ? AND committed_at >= ?
			AND committed_at <= ? AND id > ? ORDER BY id LIMIT ?`, subscription, w.Since, w.Until, last, againRows)
		if err != nil {
			return total, err
		}
		var ids []string
		if err := each(rows, func(id string) { ids = append(ids, id) }); err != nil || len(ids) == 0 {
			return total, err
		}
		n, err := s.again(ctx, subscription, ids)
		if err != nil {
			return total, err
		}
		total, last = total+n, ids[len(ids)-1]
	}
}

// again leaves those alone that a sender has in its hands: they are on their
// way. They count all the same.
func (s *Store) again(ctx context.Context, subscription string, ids []string) (n int, err error) {
	now := s.db.Dialect.NowMicros
	in, args := db.InArgsOf(ids)
	args = append([]any{subscription}, args...)
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		var locked string
		err := tx.QueryRow(ctx, "SELECT id FROM webhook_subscription WHERE id = ?"+s.db.Dialect.ForUpdate, subscription).Scan(&locked)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE webhook_delivery SET state = 0, due = `+now+`, attempts = 0, claims = 0,
			settled_at = NULL, owner = NULL, lease = 0 WHERE subscription_id = ? AND id IN `+in+
			` AND (state <> 0 OR lease <= `+now+`)`, args...)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, "SELECT COUNT(*) FROM webhook_delivery WHERE subscription_id = ? AND state = 0 AND id IN "+in,
			args...).Scan(&n)
	})
	return n, err
}
