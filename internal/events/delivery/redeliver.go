package delivery

import (
	"context"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// redeliverRows is how many deliveries one transaction of Redeliver changes.
const redeliverRows = 500

// Selection names deliveries of one subscription by one of three ways.
type Selection struct {
	Delivery     string // an id
	Receipt      string // the id of a receipt of the delivery
	Since, Until int64  // when the newest change was committed; UTC microseconds, both included
}

// Redeliver makes deliveries wait again in any state, due now and with no
// attempts, and returns their number. Their ids do not change. One that waits behind an
// earlier one of its asset goes on waiting; one that has ended comes out of order.
// Errors: fault.NotFound when the delivery or receipt does not exist.
func (s *Store) Redeliver(ctx context.Context, subscription string, w Selection) (int, error) {
	if w.Receipt != "" {
		err := s.db.QueryRow(ctx, "SELECT delivery_id FROM webhook_receipt WHERE id = ? AND subscription_id = ?",
			w.Receipt, subscription).Scan(&w.Delivery)
		if err != nil {
			return 0, err
		}
	}
	if w.Delivery != "" {
		n, err := s.requeue(ctx, subscription, []string{w.Delivery})
		if err == nil && n == 0 {
			err = fault.NotFoundf("Not Found")
		}
		return n, err
	}
	total, last := 0, ""
	for {
		ids, err := db.Column[string](ctx, s.db, `SELECT id FROM webhook_delivery WHERE subscription_id = ? AND committed_at >= ?
			AND committed_at <= ? AND id > ? ORDER BY id LIMIT ?`, subscription, w.Since, w.Until, last, redeliverRows)
		if err != nil || len(ids) == 0 {
			return total, err
		}
		n, err := s.requeue(ctx, subscription, ids)
		if err != nil {
			return total, err
		}
		total, last = total+n, ids[len(ids)-1]
	}
}

// lockEnabled locks a subscription, so that it is not disabled meanwhile.
// Errors: fault.NotFound where it is disabled or deleted.
func lockEnabled(ctx context.Context, tx *db.Tx, subscription string) error {
	if _, err := tx.Lock(ctx, "webhook_subscription", "id = ?", subscription); err != nil {
		return err
	}
	var enabled bool
	err := tx.QueryRow(ctx, "SELECT enabled FROM webhook_subscription WHERE id = ?", subscription).Scan(&enabled)
	if fault.KindOf(err) == fault.NotFound || err == nil && !enabled {
		err = fault.NotFoundf("the subscription is disabled or deleted")
	}
	return err
}

// requeue makes deliveries wait, awaited from now on. Those that a sender has claimed
// do not change, and count.
func (s *Store) requeue(ctx context.Context, subscription string, ids []string) (n int, err error) {
	now := s.db.Dialect.NowMicros
	in, args := db.InArgs(ids)
	args = append([]any{subscription}, args...)
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := lockEnabled(ctx, tx, subscription); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE webhook_delivery SET state = 0, due = CASE WHEN state = 0 AND due = ? THEN due ELSE `+now+` END, created_at = `+now+`, attempts = 0, claims = 0,
			settled_at = NULL, owner = NULL, lease = 0 WHERE subscription_id = ? AND id IN `+in+
			` AND (state <> 0 OR lease <= `+now+`)`, append([]any{db.Forever}, args...)...)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, "SELECT COUNT(*) FROM webhook_delivery WHERE subscription_id = ? AND state = 0 AND id IN "+in,
			args...).Scan(&n)
	})
	return n, err
}
