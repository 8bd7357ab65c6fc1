package delivery

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Wake makes the queue of a subscription send its due deliveries, and returns at once. It does
// nothing if this sender has too many queues; a later Sweep then finds the deliveries.
func (s *Sender) Wake(subscription string) { s.queues.wake(subscription) }

// Sweep wakes a queue for each subscription with due deliveries, in random order, so that no
// subscription is always last. It stops when no further queue may start. It also corrects
// times after the database's clock was set back, and updates gauges.
func (s *Sender) Sweep(ctx context.Context) error {
	now, err := s.correctTimes(ctx)
	if err != nil {
		return err
	}
	ids, err := s.dueSubscriptions(ctx, now)
	if err != nil {
		return err
	}
	s.metrics.due.Set(float64(len(ids)))
	if err := s.measureFailing(ctx); err != nil {
		return err
	}
	if s.mayMeasureDue(s.now()) {
		if err := s.measureDue(ctx); err != nil {
			return err
		}
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		if !s.queues.wake(id) {
			return nil
		}
	}
	return nil
}

// dueSubscriptions returns the subscriptions with due deliveries that can be sent. It includes
// disabled subscriptions, because the claim drops their deliveries.
func (s *Sender) dueSubscriptions(ctx context.Context, now int64) ([]string, error) {
	var ids []string
	err := db.Each(ctx, s.db, "SELECT subscription_id, MIN(due) FROM webhook_delivery WHERE state = 0 GROUP BY subscription_id", nil,
		func(row db.Scanner) error {
			var id string
			var due int64
			err := row.Scan(&id, &due)
			if due <= now {
				ids = append(ids, id)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return s.withoutBlocked(ctx, ids)
}

// withoutBlocked removes the ids of three kinds of subscriptions: paused subscriptions,
// subscriptions with an open circuit breaker, and subscriptions that will be disabled because their
// receiver is gone.
func (s *Sender) withoutBlocked(ctx context.Context, ids []string) ([]string, error) {
	blocked := map[string]bool{}
	for in, args := range db.InChunks(ids) {
		some, err := db.Column[string](ctx, s.db, "SELECT id FROM webhook_subscription WHERE id IN "+in+
			" AND enabled = 1 AND (paused = 1 OR gone = 1 OR breaker_until > "+s.db.Dialect.NowMicros+")", args...)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			blocked[id] = true
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return blocked[id] }), nil
}

// Limits of one claim: number of deliveries, number of events.
const (
	claimRows   = 500
	claimEvents = 500
)

// claim claims the next due deliveries of a subscription, oldest first. It claims nothing while
// another sender has claimed deliveries of the subscription. It merges deliveries that fit
// together. It locks the subscription, so claims and fan-outs of the subscription run one after the
// other. If failing is true, it claims at most one delivery. The result r is nil if the
// subscription is deleted. The result more is true if further deliveries may be due.
func (s *Sender) claim(ctx context.Context, id string, failing bool) (all []*Delivery, r *receiver, more bool, err error) {
	var reserved claiming
	defer func() { s.queues.unreserve(&reserved) }()
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		all, r, more = nil, nil, false
		s.queues.unreserve(&reserved)
		began, owner := s.now(), s.newOwner()
		found, err := s.lockReceivers(ctx, tx, []string{id})
		if err != nil {
			return err
		}
		if r = found[id]; r == nil || !r.enabled {
			return s.DropWaiting(ctx, tx, id)
		}
		if !r.sendable() {
			return nil
		}
		limit := claimRows
		if failing || r.failures > 0 {
			limit = 1
		}
		var ids []string
		if ids, more, err = s.due(ctx, tx, r, limit, &reserved); err != nil || len(ids) == 0 {
			return err
		}
		if ids, err = s.leases.Claim(ctx, tx, owner, ids); err != nil {
			return err
		}
		if all, err = s.read(ctx, tx, ids); err == nil {
			all, err = s.merge(ctx, tx, all, r)
		}
		for _, d := range all {
			d.leased, d.owner, d.Since = began, owner, r.since
		}
		r.at = s.now() // the row is locked until the commit, so r is still current
		return err
	})
	return all, r, more, err
}

// due returns the ids of the deliveries to claim together, and reserves memory for their bytes. The
// method choose limits the claimed deliveries of this subscription, and the method reserve limits
// the claimed deliveries of all subscriptions. The result more is true if further deliveries may be
// due.
//
// A delivery may crash its sender. The claims of such a delivery do not end. The more such claims a
// delivery has, the fewer other deliveries are claimed with it. In its last claim, the delivery is
// alone.
func (s *Sender) due(ctx context.Context, tx *db.Tx, r *receiver, limit int, reserved *claiming) (ids []string, more bool, err error) {
	rows, err := s.dueRows(ctx, tx, r)
	if err != nil {
		return nil, false, err
	}
	o := inOrder{first: rows}
	if r.ordered {
		if o, err = s.planOrder(ctx, tx, r, rows); err != nil {
			return nil, false, err
		}
	}
	chosen, ok := s.choose(&o, limit, reserved)
	if !ok {
		return nil, false, nil
	}
	more = len(chosen.ids) > 1 || len(o.behind) > 0
	if r.ordered {
		if err := s.putBehind(ctx, tx, o, r.now); err != nil {
			return nil, false, err
		}
		if len(o.early) > 0 {
			s.after(orderPause, func() { s.queues.wake(r.id) })
		}
		return chosen.ids, more, s.giveUpFirst(ctx, tx, r, chosen.failed)
	}
	return chosen.ids, more, s.setAside(ctx, tx, r.id, chosen.failed)
}

// dueRows reads the next due deliveries of a subscription. They include deliveries that this sender
// has already claimed.
func (s *Sender) dueRows(ctx context.Context, tx *db.Tx, r *receiver) ([]dueRow, error) {
	order, behind := "d.due, d.id", "0"
	if r.failures >= openAfter { // a probe: prefer a delivery that already has attempts
		order = "d.attempts DESC, d.due, d.id"
	}
	if r.ordered {
		behind = isBehind
	}
	return db.Collect(ctx, tx, "SELECT "+dueColumns+", "+behind+" FROM webhook_delivery d"+payloadJoin+
		"WHERE d.state = 0 AND d.subscription_id = ? AND d.due <= ? ORDER BY "+order+" LIMIT ?",
		[]any{r.id, r.now, claimRows + s.queues.claimedOf(r.id)}, func(row db.Scanner) (dueRow, error) { return scanDue(row, r.now) })
}

// chosen is the result of choose: the ids of the deliveries to claim (ids), and of the deliveries
// to set aside (failed).
type chosen struct{ ids, failed []string }

// choose selects the deliveries of a claim among the due deliveries in o. ok is false if another
// sender has claimed some of them, because that sender will also send the others. If deliveries are
// claimed together with the first delivery of their asset, choose removes them from o.behind.
func (s *Sender) choose(o *inOrder, limit int, reserved *claiming) (c chosen, ok bool) {
	count, events, bytes := 0, 0, 0
	take := func(d *dueRow) bool {
		if !s.queues.reserve(d, reserved) {
			return false
		}
		c.ids = append(c.ids, d.id)
		events, bytes = events+d.events, bytes+d.bytes
		return true
	}
	for i := range o.first {
		switch d := &o.first[i]; {
		case d.leased && d.owner != nil && s.owns(*d.owner), s.queues.has(d.id):
			continue
		case d.leased:
			return c, false
		case d.claims >= lease.MaxClaims:
			c.failed = append(c.failed, d.id)
			continue
		case d.claims > 0:
			limit = min(limit, mostSuspects(d.claims))
		}
		d := &o.first[i]
		if count >= limit || events > 0 && (events+d.events > claimEvents || bytes+d.bytes > queueBytes) || !take(d) {
			break // a later claim continues here, after other queues have sent their deliveries
		}
		if count++; limit == 1 {
			continue // the delivery is sent alone
		}
		for _, f := range o.follow[d.id] {
			if !take(&f) {
				break
			}
			delete(o.behind, f.id)
		}
	}
	return c, true
}

// setAside gives up deliveries that have lease.MaxClaims claims that did not end. It sets their
// state to setAside.
func (s *Sender) setAside(ctx context.Context, tx *db.Tx, subscription string, ids []string) error {
	now := s.db.Dialect.NowMicros
	n, err := s.leases.GiveUp(ctx, tx, ids, "state = 4, due = "+now+" + ?, settled_at = "+now+
		", owner = NULL, lease = 0, asset_id = NULL, last_error = ?", s.retention.Microseconds(), "claimed "+strconv.Itoa(lease.MaxClaims)+" times without an end")
	if err == nil && n > 0 {
		s.metrics.deliveries.WithLabelValues("set_aside").Add(float64(n))
		s.log.Error("deliveries set aside", "subscription", subscription, "count", n, "delivery", ids[0])
	}
	return err
}

// read reads claimed deliveries, in the order of their due times.
func (*Sender) read(ctx context.Context, tx *db.Tx, ids []string) ([]*Delivery, error) {
	in, args := db.InArgs(ids)
	return db.Collect(ctx, tx, `SELECT d.id, d.subscription_id, d.first_moment, d.last_moment, d.events, d.committed_at, d.created_at, d.attempts, d.claims - 1, COALESCE(a.request_id, ''), COALESCE(a.traceparent, ''), COALESCE(d.asset_id, 0), COALESCE(d.given_up, ''),
		CASE WHEN d.kind = 0 AND d.attempts = 0 AND d.claims = 1 AND d.last_status = 0 AND d.created_at = d.committed_at THEN 1 ELSE 0 END, `+
		payloadColumns+" FROM webhook_delivery d"+payloadJoin+"LEFT JOIN audit a ON a.id = d.audit_id WHERE d.id IN "+in+" ORDER BY d.due, d.id", args, func(row db.Scanner) (*Delivery, error) {
		var d Delivery
		var own, head, shared []byte
		err := row.Scan(&d.ID, &d.Subscription, &d.First, &d.Last, &d.Events, &d.Committed, &d.since, &d.attempts, &d.unended, &d.Write, &d.Trace, &d.Asset, &d.after, &d.fresh, &own, &head, &shared)
		d.Payload = payloadOf(own, head, shared)
		return &d, err
	})
}

// release ends the claims of deliveries that were not sent, so that any sender can claim them.
func (s *Sender) release(all []*Delivery) {
	err := s.leases.ReleaseEach(context.Background(), ownersOf(all))
	if err != nil && !errors.Is(err, lease.ErrLost) {
		s.log.Warn("deliveries not released", "count", len(all), "err", err)
	}
}

// ownersOf returns the owners of the claims. The keys are ids of deliveries.
func ownersOf(all []*Delivery) map[string]string {
	owners := make(map[string]string, len(all))
	for _, d := range all {
		owners[d.ID] = d.owner
	}
	return owners
}
