package delivery

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/lease"
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
	now, err := s.Now(ctx, s.db)
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
		case claims >= lease.MaxClaims:
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
	return ids, s.setAside(ctx, tx, poison)
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

// setAside takes deliveries out of the queue that were claimed too often.
func (s *Sender) setAside(ctx context.Context, tx *db.Tx, ids []string) error {
	now := s.db.Dialect.NowMicros
	n, err := s.leases.GiveUp(ctx, tx, ids, "state = 4, due = "+now+" + ?, settled_at = "+now+
		", owner = NULL, lease = 0, last_error = ?", s.keep.Microseconds(), "claimed "+strconv.Itoa(lease.MaxClaims)+" times without an end")
	if err == nil && n > 0 {
		s.metrics.deliveries.WithLabelValues("set_aside").Add(float64(n))
		s.log.Error("deliveries set aside", "count", n, "delivery", ids[0])
	}
	return err
}

// take claims deliveries and reads them; the subscription is locked.
func (s *Sender) take(ctx context.Context, tx *db.Tx, ids []string) ([]*Delivery, error) {
	ids, err := s.leases.Claim(ctx, tx, s.owner, ids)
	if err != nil {
		return nil, err
	}
	in, args := db.InArgsOf(ids)
	rows, err := tx.Query(ctx, `SELECT id, subscription_id, first_moment, last_moment, events, payload, committed_at,
		created_at, claims, attempts FROM webhook_delivery WHERE id IN `+in+` ORDER BY due, id`, args...)
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

// release gives back deliveries that were claimed and not sent.
func (s *Sender) release(ids []string) {
	err := s.leases.Release(context.Background(), s.owner, ids)
	if err != nil && !errors.Is(err, lease.ErrLost) {
		s.log.Warn("deliveries not given back", "count", len(ids), "err", err)
	}
}
