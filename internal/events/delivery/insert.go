package delivery

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// insertBytes limits the size of the payloads of one INSERT, in bytes. The last payload may exceed
// this limit.
const insertBytes = 4 << 20

// Batch holds the deliveries that Insert has claimed for its sender. Enqueue sends them.
type Batch struct {
	claimed   []*Delivery
	receivers map[string]*receiver // by subscription
	left      map[string]bool      // subscriptions with due deliveries that this sender has not claimed
}

// Insert writes new deliveries. It skips a delivery if its subscription is deleted or disabled, or
// was disabled after the delivery was made. Insert claims the deliveries that do not have to wait
// for other deliveries. After the commit of the transaction, Enqueue sends them.
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
		r.at = s.now() // the row is locked until the commit, so r is still current
	}
	return &Batch{claimed, receivers, busy}, err
}

// Enqueue sends the claimed deliveries of a batch. The transaction of Insert must be committed.
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

// lockReceivers locks and reads subscriptions. Because of the lock, fan-outs and claims of a
// subscription run one after the other. Deleted subscriptions are not in the result.
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

// busy returns the subscriptions with due deliveries that this sender has not claimed. New
// deliveries of these subscriptions must be sent after the due deliveries.
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

// insert writes deliveries. It claims some of them for this sender and returns the claimed
// deliveries. owner is the owner of the claims. insert adds the subscriptions of the other
// deliveries to busy.
func (s *Sender) insert(ctx context.Context, tx *db.Tx, all []*Delivery, receivers map[string]*receiver, busy map[string]bool, owner string) ([]*Delivery, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(d *Delivery) bool {
		r := receivers[d.Subscription]
		return r == nil || !r.enabled || r.since != d.Since // made before the subscription was enabled again
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
			busy[d.Subscription] = true // later deliveries must also wait, to keep the order
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

// InsertTest writes a test delivery that is due now. The next Sweep finds the delivery.
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
