package delivery

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
)

// KeepReceipts is how many receipts a subscription keeps. Spec: interface 8.
const KeepReceipts = 20

// pruneRows is how many rows one statement of Prune removes at most.
const pruneRows = 500

// Prune removes what has aged out: receipts beyond the newest twenty of their
// subscription, settled deliveries, what deleted subscriptions left. Running
// twice does no harm.
func (s *Store) Prune(ctx context.Context) error {
	if err := s.pruneReceipts(ctx); err != nil {
		return err
	}
	for _, state := range []int{delivered, exhausted, dropped, setAside} {
		if err := s.pruneDeliveries(ctx, state); err != nil {
			return err
		}
	}
	return s.measureWaiting(ctx)
}

func (s *Store) pruneReceipts(ctx context.Context) error {
	rows, err := s.db.Query(ctx, `SELECT r.subscription_id, COUNT(*), CASE WHEN s.id IS NULL THEN 1 ELSE 0 END
		FROM webhook_receipt r LEFT JOIN webhook_subscription s ON s.id = r.subscription_id
		GROUP BY r.subscription_id, s.id HAVING COUNT(*) > ? OR s.id IS NULL`, KeepReceipts)
	if err != nil {
		return err
	}
	defer rows.Close()
	keep := map[string]int{}
	for rows.Next() {
		var id string
		var n, orphan int
		if err := rows.Scan(&id, &n, &orphan); err != nil {
			return err
		}
		keep[id] = KeepReceipts * (1 - orphan)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows.Close()
	for id, n := range keep {
		if err := s.pruneReceiptsOf(ctx, id, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) pruneReceiptsOf(ctx context.Context, subscription string, keep int) error {
	return s.remove(ctx, "webhook_receipt", `SELECT id FROM webhook_receipt WHERE subscription_id = ?
		ORDER BY at DESC, id DESC LIMIT ? OFFSET ?`, subscription, pruneRows, keep)
}

func (s *Store) pruneDeliveries(ctx context.Context, state int) error {
	return s.remove(ctx, "webhook_delivery", "SELECT id FROM webhook_delivery WHERE state = ? AND due <= "+
		s.db.Dialect.NowMicros+" ORDER BY due LIMIT ?", state, pruneRows)
}

// remove deletes the rows a query names, part by part, until it names none.
func (s *Store) remove(ctx context.Context, table, query string, args ...any) error {
	for {
		rows, err := s.db.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		var ids []string
		if err := each(rows, func(id string) { ids = append(ids, id) }); err != nil || len(ids) == 0 {
			return err
		}
		in, these := db.InArgsOf(ids)
		if _, err := s.db.Exec(ctx, "DELETE FROM "+table+" WHERE id IN "+in, these...); err != nil {
			return err
		}
		s.metrics.pruned.WithLabelValues(table).Add(float64(len(ids)))
		if len(ids) < pruneRows {
			return nil
		}
	}
}
