package webhook

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// Prune deletes old receipts, old deliveries, and previous secrets that are no longer valid. It
// disables subscriptions that have failed too often, and subscriptions whose receiver is gone. It
// is idempotent.
func (s *Service) Prune(ctx context.Context) error {
	if err := s.deliveries.Prune(ctx); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, `UPDATE webhook_subscription SET previous_secret = NULL, previous_until = 0
		WHERE previous_until > 0 AND previous_until <= `+s.db.Dialect.NowMicros)
	if err != nil {
		return err
	}
	var failing []string
	err = subscriptions(s.db.Gorm(ctx), enabled).Where("exhausted_in_row >= ? OR gone = 1", s.failures).Pluck("id", &failing).Error
	if err != nil {
		return err
	}
	for _, id := range failing {
		if err := s.DeliveryFailed(ctx, id, ""); err != nil {
			return err
		}
	}
	return nil
}

// DeliveryFailed checks the row of a subscription. If its receiver is gone or has failed too often,
// DeliveryFailed disables the subscription and stores the reason. write is the id of the write
// whose delivery failed, or empty if it is not known.
func (s *Service) DeliveryFailed(ctx context.Context, id, write string) error {
	var failed int
	var gone bool
	err := s.db.QueryRow(ctx, "SELECT exhausted_in_row, gone FROM webhook_subscription WHERE id = ? AND enabled = 1", id).Scan(&failed, &gone)
	if fault.KindOf(err) == fault.NotFound || err == nil && !gone && failed < s.failures {
		return nil
	}
	if err != nil {
		return err
	}
	reason, still := "the receiver answered 410", "gone = 1"
	if !gone {
		reason = strconv.Itoa(failed) + " deliveries in a row failed in every attempt"
		still = "exhausted_in_row >= " + strconv.Itoa(s.failures)
	}
	done := false
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		gen, err := bumpGeneration(ctx, tx)
		if err != nil {
			return err
		}
		res, err := tx.Exec(ctx, `UPDATE webhook_subscription SET enabled = 0, gone = 0, disabled_reason = ?, generation = ?
			WHERE id = ? AND enabled = 1 AND `+still, reason, gen, id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		done = true
		err = trail.Record(ctx, tx, trail.Event{
			Kind: trail.SubscriptionChanged, Address: trail.Server,
			Detail: trail.Detail{Subscription: id, Changed: []string{"enabled"}, Reason: reason},
		})
		if err != nil {
			return err
		}
		return s.deliveries.DropWaiting(ctx, tx, id)
	})
	if err == nil && done {
		s.metrics.disabled.Inc()
		s.log.Warn("subscription disabled", "subscription", id, "write", write, "reason", reason)
	}
	return err
}
