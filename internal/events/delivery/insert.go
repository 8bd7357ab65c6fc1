package delivery

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// insertBytes bounds the payloads of one INSERT.
const insertBytes = 4 << 20

// Batch is what Insert claimed for its sender.
type Batch struct {
	claimed   []*Delivery
	receivers map[string]*receiver
	left      map[string]bool // subscriptions with due deliveries that are not claimed
}

// Insert writes new deliveries, except those of subscriptions that are deleted or
// disabled, or that were disabled since the deliveries were made. Those that need not wait for others are claimed for this
// sender; Enqueue sends them after the transaction is committed.
func (s *Sender) Insert(ctx context.Context, tx *db.Tx, all []*Delivery) (*Batch, error) {
	began, owner := s.now(), s.newOwner()
	ids := subscriptionsOf(all)
	receivers, err := s.lockReceivers(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	busy, err := s.busy(ctx, tx, ids, receivers)
	if err != nil {
		return nil, err
	}
	claimed, err := s.insert(ctx, tx, all, receivers, busy, owner)
	for _, d := range claimed {
		d.leased, d.owner = began, owner
	}
	for _, r := range receivers {
		r.at = s.now() // it is still locked; after the commit another write may have changed it
	}
	return &Batch{claimed, receivers, busy}, err
}

// Enqueue sends what a batch claimed.
func (s *Sender) Enqueue(b *Batch) {
	s.queues.enqueue(b)
}

func subscriptionsOf(all []*Delivery) []string {
	var ids []string
	for _, d := range all {
		ids = append(ids, d.Subscription)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lockReceivers locks subscriptions, so that fan-outs and claims of one follow
// each other, and reads them. Deleted ones are not in the result.
func (s *Sender) lockReceivers(ctx context.Context, tx *db.Tx, ids []string) (map[string]*receiver, error) {
	found := make(map[string]*receiver, len(ids))
	for in, args := range db.InChunks(ids) {
		_, err := tx.Lock(ctx, "webhook_subscription", "id IN "+in+" ORDER BY id", args...)
		if err == nil {
			err = s.readReceivers(ctx, tx, "WHERE id IN "+in+" ORDER BY id", args, found)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// busy returns the subscriptions with due deliveries that this sender has not
// claimed: new ones must be sent after them.
func (s *Sender) busy(ctx context.Context, tx *db.Tx, ids []string, receivers map[string]*receiver) (map[string]bool, error) {
	now := int64(0)
	for _, r := range receivers {
		now = max(now, r.now)
	}
	busy := map[string]bool{}
	for in, args := range db.InChunks(ids) {
		some, err := db.Column[string](ctx, tx, "SELECT s.id FROM webhook_subscription s WHERE s.id IN "+in+` AND EXISTS (
			SELECT 1 FROM webhook_delivery d WHERE d.state = 0 AND d.subscription_id = s.id AND d.due <= ?
			AND (d.owner IS NULL OR d.owner NOT LIKE ?))`, append(args, now, s.name+".%")...)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			busy[id] = true
		}
	}
	return busy, nil
}

// insert writes deliveries, awaited since their changes were committed, and returns
// those claimed for this sender by owner. busy gets the subscriptions of the others.
func (s *Sender) insert(ctx context.Context, tx *db.Tx, all []*Delivery, receivers map[string]*receiver, busy map[string]bool, owner string) ([]*Delivery, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(d *Delivery) bool {
		r := receivers[d.Subscription]
		return r == nil || !r.enabled || r.since != d.Since // enabled again: what was made before is dropped
	})
	if len(all) == 0 {
		return nil, nil
	}
	if err := s.insertPayloads(ctx, tx, all, receivers[all[0].Subscription].now); err != nil {
		return nil, err
	}
	var claimed []*Delivery
	var rows [][]any
	size := 0
	capacity := s.queues.capacity()
	for _, d := range all {
		r := receivers[d.Subscription]
		row := []any{
			d.ID, d.Subscription, d.Audit, d.First, d.Last, d.Events, d.Payload, waiting, r.now,
			nil, 0, 0, d.Committed, d.Committed, nil, nil, nil, nil, nil,
		}
		if d.Shared != nil {
			row[6], row[14], row[15] = []byte{}, d.Shared.ID, d.Head
		}
		d.since = d.Committed
		ordered := r.ordered && d.Asset != 0
		if ordered {
			row[18] = d.Asset
		}
		switch {
		case d.SetAside != "":
			row[7], row[8], row[16], row[17] = setAside, r.now+s.retention.Microseconds(), r.now, Truncate(d.SetAside)
			row[18] = nil
			s.metrics.deliveries.WithLabelValues("set_aside").Inc()
		case !ordered && !busy[d.Subscription] && r.sendable() && r.failures == 0 && capacity.reserve(d, r.maxBatch()):
			row[9], row[10], row[11] = owner, r.now+lease.Duration.Microseconds(), 1
			claimed = append(claimed, d)
		default:
			busy[d.Subscription] = true // keeps the order
		}
		rows = append(rows, row)
		if size += len(d.Payload); size >= insertBytes {
			if err := db.Insert(ctx, tx, "webhook_delivery", deliveryColumns, rows); err != nil {
				return nil, err
			}
			rows, size = nil, 0
		}
	}
	return claimed, db.Insert(ctx, tx, "webhook_delivery", deliveryColumns, rows)
}

// InsertTest writes a test delivery. The next Sweep finds it.
func (s *Store) InsertTest(ctx context.Context, tx *db.Tx, d *Delivery) error {
	now := s.db.Dialect.NowMicros
	_, err := tx.Exec(ctx, `INSERT INTO webhook_delivery (id, subscription_id, kind, first_moment, last_moment, events,
		payload, state, due, committed_at, created_at) VALUES (?,?,1,?,?,?,?,0,`+now+","+now+","+now+")",
		d.ID, d.Subscription, d.First, d.Last, d.Events, d.Payload)
	return err
}

var deliveryColumns = []string{
	"id", "subscription_id", "audit_id", "first_moment", "last_moment", "events", "payload", "state", "due",
	"owner", "lease", "claims", "committed_at", "created_at", "payload_id", "head", "settled_at", "last_error", "asset_id",
}
