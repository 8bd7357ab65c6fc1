package delivery

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

// Wake delivers what is due to one subscription.
func (s *Sender) Wake(subscription string) { s.lanes.wake(subscription) }

// Sweep wakes a lane for every subscription with deliveries that are due, in no
// order, so that no subscription is always last.
func (s *Sender) Sweep(ctx context.Context) error {
	ids, err := s.dueSubscriptions(ctx)
	if err != nil {
		return err
	}
	s.metrics.due.Set(float64(len(ids)))
	if err := s.measureFailing(ctx); err != nil {
		return err
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		if !s.lanes.wake(id) {
			return nil
		}
	}
	return nil
}

// dueSubscriptions lists the subscriptions with something due that may be sent
// or must be dropped.
func (s *Sender) dueSubscriptions(ctx context.Context) ([]string, error) {
	now, err := clock(ctx, s.db, s.db.Dialect)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, "SELECT subscription_id, MIN(due) FROM webhook_delivery WHERE state = 0 GROUP BY subscription_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		var due int64
		if err := rows.Scan(&id, &due); err != nil {
			return nil, err
		}
		if due <= now {
			ids = append(ids, id)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	return s.open(ctx, ids)
}

// open leaves out subscriptions that are paused or whose breaker is open.
func (s *Sender) open(ctx context.Context, ids []string) ([]string, error) {
	closed := map[string]bool{}
	for part := range slices.Chunk(ids, db.MaxIn) {
		in, args := db.InArgsOf(part)
		rows, err := s.db.Query(ctx, "SELECT id FROM webhook_subscription WHERE id IN "+in+
			" AND enabled = 1 AND (paused = 1 OR breaker_until > "+s.db.Dialect.NowMicros+")", args...)
		if err != nil {
			return nil, err
		}
		if err := each(rows, func(id string) { closed[id] = true }); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return closed[id] }), nil
}

// Bounds of one claim.
const (
	lease       = 6 * time.Second // how long a claim holds unless it is renewed
	renewEvery  = 2 * time.Second
	maxClaims   = 5 // claims without an end before a row is set aside
	claimRows   = 128
	claimEvents = 500
)

// claim takes the next due deliveries of a subscription for this worker, oldest
// first; nothing while another worker holds some. The subscription's lock makes
// claims and fan-outs of it take turns. A nil receiver: nothing may be sent.
func (s *Sender) claim(ctx context.Context, id string, failing bool) ([]*Delivery, *receiver, error) {
	var all []*Delivery
	var r *receiver
	err := s.db.Write(ctx, func(tx *db.Tx) error {
		all, r = nil, nil
		found, err := s.lockReceivers(ctx, tx, []string{id})
		if err != nil {
			return err
		}
		if r = found[id]; r == nil || !r.enabled {
			return s.DropWaiting(ctx, tx, id)
		}
		if !r.isOpen() {
			return nil
		}
		most := claimRows
		if failing || r.failures > 0 {
			most = 1
		}
		ids, err := s.due(ctx, tx, r, most)
		if err != nil || len(ids) == 0 {
			return err
		}
		all, err = s.take(ctx, tx, ids)
		return err
	})
	return all, r, err
}

// due lists the deliveries to be claimed together. One whose earlier claims
// never ended comes in ever smaller company, so that what kills a worker is
// alone when it is set aside.
func (s *Sender) due(ctx context.Context, tx *db.Tx, r *receiver, most int) ([]string, error) {
	order := "due, id"
	if r.failures >= breakAfter { // a probe: one that was begun is brought to its end
		order = "attempts DESC, due, id"
	}
	rows, err := tx.Query(ctx, `SELECT id, owner, lease, claims, events FROM webhook_delivery
		WHERE state = 0 AND subscription_id = ? AND due <= ? ORDER BY `+order+" LIMIT ?",
		r.id, r.now, claimRows+s.lanes.heldOf(r.id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids, poison []string
	events := 0
	for rows.Next() {
		var id string
		var owner *string
		var until int64
		var claims, n int
		if err := rows.Scan(&id, &owner, &until, &claims, &n); err != nil {
			return nil, err
		}
		switch {
		case until > r.now && owner != nil && *owner == s.owner, s.lanes.holds(id):
			continue
		case until > r.now:
			return nil, nil // another worker is at it, and goes on with what follows
		case claims >= maxClaims:
			poison = append(poison, id)
			continue
		case claims > 0:
			most = min(most, max(1, 64>>(2*claims)))
		}
		if len(ids) >= most || events > 0 && events+n > claimEvents {
			break
		}
		events += n
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	return ids, s.setDeliveriesAside(ctx, tx, poison)
}

func (l *lanes) holds(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[id] != nil
}

func (l *lanes) heldOf(subscription string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, d := range l.held {
		if d.Subscription == subscription {
			n++
		}
	}
	return n
}

func (s *Sender) setDeliveriesAside(ctx context.Context, tx *db.Tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	now := s.db.Dialect.NowMicros
	in, args := db.InArgsOf(ids)
	_, err := tx.Exec(ctx, "UPDATE webhook_delivery SET state = 4, due = "+now+" + ?, settled_at = "+now+
		", owner = NULL, lease = 0, last_error = ? WHERE id IN "+in+" AND state = 0",
		append([]any{s.keep.Microseconds(), "claimed " + strconv.Itoa(maxClaims) + " times without an end"}, args...)...)
	if err == nil {
		s.metrics.deliveries.WithLabelValues("set_aside").Add(float64(len(ids)))
		s.log.Error("deliveries set aside", "count", len(ids), "delivery", ids[0])
	}
	return err
}

// take claims deliveries and reads them; the subscription is locked.
func (s *Sender) take(ctx context.Context, tx *db.Tx, ids []string) ([]*Delivery, error) {
	in, args := db.InArgsOf(ids)
	now := s.db.Dialect.NowMicros
	_, err := tx.Exec(ctx, "UPDATE webhook_delivery SET owner = ?, fence = fence + 1, claims = claims + 1, lease = "+now+
		" + ? WHERE id IN "+in+" AND state = 0 AND lease <= "+now,
		append([]any{s.owner, lease.Microseconds()}, args...)...)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT id, subscription_id, first_moment, last_moment, events, payload, committed_at,
		created_at, claims, attempts FROM webhook_delivery WHERE id IN `+in+` AND state = 0 AND owner = ? ORDER BY due, id`,
		append(args, s.owner)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*Delivery
	for rows.Next() {
		var d Delivery
		err := rows.Scan(&d.ID, &d.Subscription, &d.First, &d.Last, &d.Events, &d.Payload, &d.Committed,
			&d.created, &d.claims, &d.attempts)
		if err != nil {
			return nil, err
		}
		all = append(all, &d)
	}
	return all, rows.Err()
}

// unclaim gives back deliveries that were claimed and not sent.
func (s *Sender) unclaim(ids []string) {
	ctx, cancel := context.WithTimeout(context.Background(), renewEvery)
	defer cancel()
	in, args := db.InArgsOf(ids)
	_, err := s.db.Exec(ctx, "UPDATE webhook_delivery SET owner = NULL, lease = 0, claims = claims - 1 WHERE id IN "+in+
		" AND owner = ? AND state = 0", append(args, s.owner)...)
	if err != nil {
		s.log.Warn("deliveries not given back", "count", len(ids), "err", err)
	}
}
