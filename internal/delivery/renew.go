package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/lease"
)

// renewAll renews the leases of claimed deliveries once they are as old as
// lease.RenewEvery, and reads again the subscriptions of all queues, until ctx ends.
func (qs *queues) renewAll(ctx context.Context) {
	tick := time.NewTicker(lease.RenewEvery / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ids := qs.leasedBefore(time.Now().Add(-lease.RenewEvery))
		if err := qs.renew(ctx, ids); err != nil && ctx.Err() == nil {
			qs.s.log.Warn("claims not renewed", "count", len(ids), "err", err)
		}
		qs.mu.Lock()
		subscriptions := slices.Collect(maps.Keys(qs.byID))
		qs.mu.Unlock()
		for part := range slices.Chunk(subscriptions, db.MaxIn) {
			if err := qs.refresh(ctx, part); err != nil && ctx.Err() == nil {
				qs.s.log.Warn("subscriptions not read", "count", len(part), "err", err)
			}
		}
	}
}

// refresh gives queues their subscriptions as they are now. A queue whose
// subscription takes nothing any more is released.
func (qs *queues) refresh(ctx context.Context, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, lease.RenewEvery)
	defer cancel()
	in, args := db.InArgs(ids)
	found := map[string]*receiver{}
	if err := qs.s.readReceivers(ctx, qs.s.db, "WHERE id IN "+in, args, found); err != nil {
		return err
	}
	for _, id := range ids {
		r := found[id]
		if r == nil || !r.sendable() {
			qs.release(id)
			continue
		}
		qs.mu.Lock()
		if q := qs.byID[id]; q != nil {
			q.receiver = r
		}
		qs.mu.Unlock()
	}
	return nil
}

// renew renews leases and drops the deliveries whose leases were lost.
func (qs *queues) renew(ctx context.Context, ids []string) error {
	began := time.Now()
	held, err := qs.s.leases.Renew(ctx, qs.s.owner, ids)
	if err != nil {
		return err
	}
	if qs.leased(held, began); len(held) == len(ids) {
		return nil
	}
	owned := make(map[string]bool, len(held))
	for _, id := range held {
		owned[id] = true
	}
	qs.drop(slices.DeleteFunc(ids, func(id string) bool { return owned[id] }))
	return nil
}

// renewEnded renews leases before a delivery is sent whose own has ended, as in a process
// that was stopped for a while: another sender may have the deliveries by now, which are
// dropped then. Where the database does not answer nobody else can have claimed them.
func (qs *queues) renewEnded(d *Delivery) {
	ended := time.Now().Add(-lease.Duration)
	qs.mu.Lock()
	isEnded := qs.claimed[d.ID] != nil && d.leased.Before(ended)
	qs.mu.Unlock()
	if !isEnded {
		return
	}
	ids := qs.leasedBefore(ended)
	if err := qs.renew(qs.ctx, ids); err != nil && qs.ctx.Err() == nil {
		qs.s.log.Warn("claims not renewed", "count", len(ids), "err", err)
	}
}

// drop removes deliveries from the queues.
func (qs *queues) drop(ids []string) {
	qs.settled(ids...)
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.byID {
		q.pending = slices.DeleteFunc(q.pending, func(d *Delivery) bool {
			if qs.claimed[d.ID] != nil {
				return false
			}
			q.events -= d.Events
			q.bytes -= d.size()
			return true
		})
	}
}
