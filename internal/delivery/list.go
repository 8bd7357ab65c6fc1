package delivery

import (
	"context"
	"database/sql"

	"github.com/alds-dev/alds/internal/db"
)

// Row is a delivery as people look at it. Units: times are UTC microseconds.
type Row struct {
	ID          string
	Test        bool
	Events      int
	First, Last int64 // sequenceIds
	Attempts    int
	State       string // one of States
	Due         int64  // waiting ones only
	Sending     bool   // a worker has it
	Status      int    // of the last answer; 0 for none
	Error       string // of the last attempt
	Committed   int64
	Settled     int64 // 0: not yet
}

// States are the words for what becomes of deliveries, by their numbers.
var States = []string{waiting: "waiting", delivered: "delivered", exhausted: "exhausted", dropped: "dropped", setAside: "setAside"}

// List returns deliveries of a subscription in one state: what waits in the
// order in which it is due, the rest newest first. It counts all there are.
func List(ctx context.Context, q db.Querier, d *db.Dialect, subscription string, state, size, start int) (rows []Row, total int64, err error) {
	err = q.QueryRow(ctx, "SELECT COUNT(*) FROM webhook_delivery WHERE state = ? AND subscription_id = ?",
		state, subscription).Scan(&total)
	if err != nil {
		return nil, 0, err
	}
	order := "due DESC, id DESC"
	if state == waiting {
		order = "due, id"
	}
	found, err := q.Query(ctx, `SELECT id, kind, events, first_moment, last_moment, attempts, due,
		CASE WHEN lease > `+d.NowMicros+` THEN 1 ELSE 0 END, last_status, last_error, committed_at, settled_at
		FROM webhook_delivery WHERE state = ? AND subscription_id = ? ORDER BY `+order+" LIMIT ? OFFSET ?",
		state, subscription, size, start)
	if err != nil {
		return nil, 0, err
	}
	defer found.Close()
	for found.Next() {
		r := Row{State: States[state]}
		var text sql.NullString
		var settled sql.NullInt64
		err := found.Scan(&r.ID, &r.Test, &r.Events, &r.First, &r.Last, &r.Attempts, &r.Due, &r.Sending, &r.Status,
			&text, &r.Committed, &settled)
		if err != nil {
			return nil, 0, err
		}
		r.Error, r.Settled = text.String, settled.Int64
		rows = append(rows, r)
	}
	return rows, total, found.Err()
}

// Held is what keeps all deliveries of a subscription waiting. Units: UTC
// microseconds on the database's clock.
type Held struct {
	Paused bool
	Until  int64 // the receiver rests; in the past when it does not
	Now    int64
}

// Held reads what keeps a subscription's deliveries waiting.
func (s *Store) Held(ctx context.Context, q db.Querier, subscription string) (h Held, err error) {
	err = q.QueryRow(ctx, "SELECT paused, breaker_until, "+s.db.Dialect.NowMicros+" FROM webhook_subscription WHERE id = ?",
		subscription).Scan(&h.Paused, &h.Until, &h.Now)
	return h, err
}
