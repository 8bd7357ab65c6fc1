package delivery

import (
	"context"
	"database/sql"

	"github.com/alds-dev/alds/internal/db"
)

// The states of a subscription's breaker. Once the rest is over an open one
// lets a probe through.
const (
	breakerClosed = 0
	breakerOpen   = 1
)

// receiver is what sending to a subscription needs.
type receiver struct {
	id             string
	url            string
	authorization  string // sealed; empty for none
	secret         string // sealed; empty for none
	previousSecret string // sealed; empty for none
	previousUntil  int64
	enabled        bool
	paused         bool
	failures       int   // attempts failed in a row
	restsUntil     int64 // the breaker lets nothing through before
	now            int64 // the database's time when this was read
}

// isOpen reports whether deliveries may be sent.
func (r *receiver) isOpen() bool { return r.enabled && !r.paused && r.restsUntil <= r.now }

// readReceivers adds subscriptions to found; rest follows FROM.
func (s *Sender) readReceivers(ctx context.Context, q db.Querier, rest string, args []any, found map[string]*receiver) error {
	rows, err := q.Query(ctx, `SELECT id, url, authorization, secret, previous_secret, previous_until, enabled, paused,
		failures_in_row, breaker_until, `+s.db.Dialect.NowMicros+` FROM webhook_subscription `+rest, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r receiver
		var authorization, secret, previous sql.NullString
		var until sql.NullInt64
		err := rows.Scan(&r.id, &r.url, &authorization, &secret, &previous, &until, &r.enabled, &r.paused,
			&r.failures, &r.restsUntil, &r.now)
		if err != nil {
			return err
		}
		r.authorization, r.secret, r.previousSecret = authorization.String, secret.String, previous.String
		r.previousUntil = until.Int64
		found[r.id] = &r
	}
	return rows.Err()
}
