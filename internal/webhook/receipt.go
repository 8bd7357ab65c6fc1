package webhook

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/delivery"
)

// Status returns the newest receipts of a subscription, newest first.
// Errors: fault.Denied, fault.NotFound.
// Spec: interface 2.7, 4.4.
func (s *Service) Status(ctx context.Context, who auth.Actor, id string) ([]Receipt, error) {
	if !who.Admin {
		return nil, errNotAdmin()
	}
	receipts := []Receipt{}
	err := s.db.Read(ctx, func(tx *db.Tx) error {
		if _, err := findRecord(ctx, tx, id, ""); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT id, delivery_id, subscription_id, has_authorization, url, response,
			headers, status, at, retry_count, was_received FROM webhook_receipt
			WHERE subscription_id = ? ORDER BY at DESC, id DESC LIMIT ?`, id, delivery.KeepReceipts)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanReceipt(rows)
			if err != nil {
				return err
			}
			receipts = append(receipts, r)
		}
		return rows.Err()
	})
	return receipts, err
}

func scanReceipt(rows *db.Rows) (Receipt, error) {
	r := Receipt{Headers: map[string]string{}}
	var response, headers sql.NullString
	var at int64
	err := rows.Scan(&r.ID, &r.DeliveryID, &r.SubscriptionID, &r.HasAuthorization, &r.URL, &response,
		&headers, &r.Status, &at, &r.RetryCount, &r.WasReceived)
	if err != nil {
		return r, err
	}
	r.Response, r.TimeStamp = response.String, instant(at)
	if headers.String != "" {
		err = json.Unmarshal([]byte(headers.String), &r.Headers)
	}
	return r, err
}
