package delivery

import (
	"context"
	"database/sql"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
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
