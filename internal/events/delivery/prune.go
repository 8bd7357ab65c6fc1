package delivery

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// maxReceipts is the maximum number of receipts that are stored for a subscription. Spec: interface
// 8.
const maxReceipts = 20

// pruneRows is the maximum number of rows that one statement of Prune removes.
const pruneRows = 500

// Prune deletes old rows: all receipts of a subscription except the newest maxReceipts, receipts of
// deleted subscriptions, deliveries whose retention is over, and shared payloads to which no
// delivery refers. It also updates the gauges of waiting deliveries. It is idempotent.
func (s *Store) Prune(ctx context.Context) error {
	if err := s.pruneReceipts(ctx); err != nil {
		return err
	}
	for _, state := range []int{delivered, exhausted, dropped, setAside} {
		if err := s.pruneDeliveries(ctx, state); err != nil {
			return err
		}
	}
	if err := s.prunePayloads(ctx); err != nil {
		return err
	}
	return s.measureWaiting(ctx)
}

func (s *Store) pruneReceipts(ctx context.Context) error {
	limits := map[string]int{}
	err := db.Each(ctx, s.db, `SELECT r.subscription_id, COUNT(*), CASE WHEN s.id IS NULL THEN 1 ELSE 0 END
		FROM webhook_receipt r LEFT JOIN webhook_subscription s ON s.id = r.subscription_id
		GROUP BY r.subscription_id, s.id HAVING COUNT(*) > ? OR s.id IS NULL`, []any{maxReceipts}, func(row db.Scanner) error {
		var id string
		var n, deleted int
		err := row.Scan(&id, &n, &deleted)
		limits[id] = maxReceipts * (1 - deleted)
		return err
	})
	if err != nil {
		return err
	}
	for id, limit := range limits {
		err := s.remove(ctx, "webhook_receipt", "", `SELECT id, 0 FROM webhook_receipt WHERE subscription_id = ?
			ORDER BY at DESC, id DESC LIMIT ? OFFSET ?`, id, pruneRows, limit)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) pruneDeliveries(ctx context.Context, state int) error {
	return s.remove(ctx, "webhook_delivery", s.isEnded(), "SELECT id, LENGTH(payload) FROM webhook_delivery WHERE state = ? AND due <= "+
		s.db.Dialect.NowMicros+" ORDER BY due LIMIT ?", state, pruneRows)
}

// isEnded returns an SQL condition that a delivery must still meet when it is deleted. A client may
// have asked to deliver it again after Prune has selected it.
func (s *Store) isEnded() string { return " AND state <> 0 AND due <= " + s.db.Dialect.NowMicros }

// delete deletes the rows with these ids that still meet a condition. The parameter still is the
// SQL of the condition and begins with AND. If it is empty, there is no condition.
func (s *Store) delete(ctx context.Context, table, still string, ids []string) error {
	in, args := db.InArgs(ids)
	r, err := s.db.Exec(ctx, "DELETE FROM "+table+" WHERE id IN "+in+still, args...)
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	s.metrics.pruned.WithLabelValues(table).Add(float64(n))
	return err
}

// remove deletes rows until the query returns no more rows. The query must select ids and sizes in
// bytes, of at most pruneRows rows. The parameter still is a condition as in delete.
func (s *Store) remove(ctx context.Context, table, still, query string, args ...any) error {
	for {
		ids, more, err := db.Removable(ctx, s.db, query, args...)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := s.delete(ctx, table, still, ids); err != nil {
			return err
		}
		if len(ids) < pruneRows && !more {
			return nil
		}
	}
}
