package delivery

import (
	"context"
	"database/sql"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// receiver contains the columns of a subscription that are needed to send its deliveries.
type receiver struct {
	id             string
	url            string
	authorization  string // encrypted; empty: requests have no Authorization header
	secret         string // encrypted signing secret; empty: requests are not signed
	previousSecret string // encrypted; empty: there is no previous secret
	previousUntil  int64  // end of the validity of previousSecret, in UTC microseconds
	enabled        bool
	paused         bool
	batch          int   // maximum number of events in a delivery; 0: MaxEvents
	ordered        bool  // true: the events of each asset are sent in order
	failures       int   // number of failed attempts in a row
	openUntil      int64 // end of the backoff of an open circuit breaker, in UTC microseconds
	gone           bool  // true: the receiver answered 410, and the subscription will be disabled
	since          int64 // generation of subscriptions at which the subscription was enabled
	now            int64 // time of the read on the clock of the database, in UTC microseconds

	at time.Time // at this time on the clock of this process, the row had these values
}

// sendable reports whether deliveries of the subscription could be sent when r was read.
func (r *receiver) sendable() bool { return r.enabled && !r.paused && !r.gone && r.openUntil <= r.now }

// maxBatch returns the maximum number of events in a delivery.
func (r *receiver) maxBatch() int {
	if r.batch > 0 {
		return min(r.batch, MaxEvents)
	}
	return MaxEvents
}

// readReceivers reads subscriptions and adds them to the map found, by id. clauses is the part of
// the SQL statement after the table name.
func (s *Sender) readReceivers(ctx context.Context, q db.Querier, clauses string, args []any, found map[string]*receiver) error {
	at := s.now()
	return db.Each(ctx, q, `SELECT id, url, authorization, secret, previous_secret, previous_until, enabled, paused, max_batch, ordered,
		failures_in_row, breaker_until, gone, since_generation, `+s.db.Dialect.NowMicros+` FROM webhook_subscription `+clauses, args, func(row db.Scanner) error {
		r := receiver{at: at}
		var authorization, secret, previous sql.NullString
		var until sql.NullInt64
		err := row.Scan(&r.id, &r.url, &authorization, &secret, &previous, &until, &r.enabled, &r.paused, &r.batch, &r.ordered,
			&r.failures, &r.openUntil, &r.gone, &r.since, &r.now)
		r.authorization, r.secret, r.previousSecret = authorization.String, secret.String, previous.String
		r.previousUntil = until.Int64
		found[r.id] = &r
		return err
	})
}
