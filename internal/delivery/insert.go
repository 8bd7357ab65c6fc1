package delivery

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/lease"
)

// insertBytes bounds the payloads of one INSERT.
const insertBytes = 4 << 20

// Batch is what Insert claimed for its sender.
type Batch struct {
	taken     []*Delivery
	receivers map[string]*receiver
}

// Insert writes new deliveries. Those of subscriptions that are free are
// claimed for this sender on the way: when the transaction has ended well, Give
// sends them. Deliveries of subscriptions that are gone or disabled are not
// written.
func (s *Sender) Insert(ctx context.Context, tx *db.Tx, all []*Delivery) (*Batch, error) {
	ids := subscriptionsOf(all)
	receivers, err := s.lockReceivers(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	busy, err := s.busy(ctx, tx, ids, receivers)
	if err != nil {
		return nil, err
	}
	taken, err := s.insert(ctx, tx, all, receivers, busy)
	return &Batch{taken, receivers}, err
}

// Give sends a batch.
func (s *Sender) Give(b *Batch) { s.lanes.give(b.taken, b.receivers) }

func subscriptionsOf(all []*Delivery) []string {
	var ids []string
	for _, d := range all {
		ids = append(ids, d.Subscription)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lockReceivers locks subscriptions, so that fan-outs and claims of one take
// turns, and reads what sending needs. Those that are gone are not in the answer.
func (s *Sender) lockReceivers(ctx context.Context, tx *db.Tx, ids []string) (map[string]*receiver, error) {
	found := make(map[string]*receiver, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgsOf(ids[:n])
		err := s.readReceivers(ctx, tx, "WHERE id IN "+in+" ORDER BY id"+s.db.Dialect.ForUpdate, args, found)
		if err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return found, nil
}

// busy returns the subscriptions with due deliveries that are not this
// worker's: what comes now must wait behind them.
func (s *Sender) busy(ctx context.Context, tx *db.Tx, ids []string, receivers map[string]*receiver) (map[string]bool, error) {
	busy := map[string]bool{}
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgsOf(ids[:n])
		now := int64(0)
		for _, r := range receivers {
			now = max(now, r.now)
		}
		rows, err := tx.Query(ctx, "SELECT s.id FROM webhook_subscription s WHERE s.id IN "+in+` AND EXISTS (
			SELECT 1 FROM webhook_delivery d WHERE d.state = 0 AND d.subscription_id = s.id AND d.due <= ?
			AND (d.owner IS NULL OR d.owner <> ?))`, append(args, now, s.owner)...)
		if err != nil {
			return nil, err
		}
		err = each(rows, func(id string) { busy[id] = true })
		if err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	return busy, nil
}

// insert writes deliveries and returns those claimed for this sender.
func (s *Sender) insert(ctx context.Context, tx *db.Tx, all []*Delivery, receivers map[string]*receiver, busy map[string]bool) ([]*Delivery, error) {
	var taken []*Delivery
	var rows [][]any
	size := 0
	room := s.lanes.room()
	for _, d := range all {
		r := receivers[d.Subscription]
		if r == nil || !r.enabled {
			continue
		}
		row := []any{
			d.ID, d.Subscription, d.Audit, d.First, d.Last, d.Events, d.Payload, waiting, r.now,
			nil, 0, 0, d.Committed, r.now,
		}
		if !busy[d.Subscription] && r.isOpen() && r.failures == 0 && room.take(d) {
			d.claims, d.created = 1, r.now
			row[9], row[10], row[11] = s.owner, r.now+lease.Duration.Microseconds(), 1
			taken = append(taken, d)
		} else {
			busy[d.Subscription] = true // what follows waits behind it
		}
		rows = append(rows, row)
		if size += len(d.Payload); size >= insertBytes {
			if err := db.Insert(ctx, tx, "webhook_delivery", deliveryColumns, rows); err != nil {
				return nil, err
			}
			rows, size = nil, 0
		}
	}
	return taken, db.Insert(ctx, tx, "webhook_delivery", deliveryColumns, rows)
}

// PutTest writes a delivery that nobody changed anything for, and leaves it to
// the sweep.
func (s *Store) PutTest(ctx context.Context, tx *db.Tx, d *Delivery) error {
	now := s.db.Dialect.NowMicros
	_, err := tx.Exec(ctx, `INSERT INTO webhook_delivery (id, subscription_id, kind, first_moment, last_moment, events,
		payload, state, due, committed_at, created_at) VALUES (?,?,1,?,?,?,?,0,`+now+","+now+","+now+")",
		d.ID, d.Subscription, d.First, d.Last, d.Events, d.Payload)
	return err
}

var deliveryColumns = []string{
	"id", "subscription_id", "audit_id", "first_moment", "last_moment", "events", "payload", "state", "due",
	"owner", "lease", "claims", "committed_at", "created_at",
}
