package delivery

import (
	"context"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// redeliverRows is the maximum number of deliveries that one transaction of Redeliver changes.
const redeliverRows = 500

// Selection selects deliveries of one subscription: by the id of a delivery, by the id of a
// receipt, or by time.
type Selection struct {
	Delivery     string // id of the delivery
	Receipt      string // id of a receipt of the delivery
	Since, Until int64  // range of the commit time of the newest change, in UTC microseconds; both ends included
}

// Redeliver makes deliveries wait again, and returns how many. They may be in any state. They are
// due now, have no attempts, and keep their ids. A delivery that waits for an earlier delivery of
// its asset continues to wait. A delivery that has ended is sent again out of order. The error has
// the kind fault.NotFound if the delivery or receipt does not exist, or if the subscription is
// disabled or deleted.
func (s *Store) Redeliver(ctx context.Context, subscription string, selected Selection) (int, error) {
	if selected.Receipt != "" {
		err := s.db.QueryRow(ctx, "SELECT delivery_id FROM webhook_receipt WHERE id = ? AND subscription_id = ?",
			selected.Receipt, subscription).Scan(&selected.Delivery)
		if err != nil {
			return 0, err
		}
	}
	if selected.Delivery != "" {
		n, err := s.requeue(ctx, subscription, []string{selected.Delivery})
		if err == nil && n == 0 {
			err = fault.NotFoundf("Not Found")
		}
		return n, err
	}
	total, last := 0, ""
	for {
		ids, err := db.Column[string](ctx, s.db, `SELECT id FROM webhook_delivery WHERE subscription_id = ? AND committed_at >= ?
			AND committed_at <= ? AND id > ? ORDER BY id LIMIT ?`, subscription, selected.Since, selected.Until, last, redeliverRows)
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

// lockEnabled locks a subscription, so that it cannot be disabled before the transaction ends. The
// error has the kind fault.NotFound if the subscription is disabled or deleted.
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

// requeue makes deliveries wait again, and sets their created_at to the current time. It does not
// change deliveries that a sender has claimed, but counts them in n.
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
