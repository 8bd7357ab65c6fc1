package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// renewAll renews the leases that are older than lease.RenewEvery. It also reads the subscriptions
// of all queues again. It repeats both until ctx ends.
func (qs *queues) renewAll(ctx context.Context) {
	tick := time.NewTicker(lease.RenewEvery / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		old := qs.leasedBefore(qs.s.now().Add(-lease.RenewEvery))
		if err := qs.renew(ctx, old); err != nil && ctx.Err() == nil {
			qs.s.log.Warn("claims not renewed", "count", len(old), "err", err)
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

// refresh reads the subscriptions of queues again. It releases the pending deliveries of a
// queue whose subscription is deleted or not sendable.
func (qs *queues) refresh(ctx context.Context, ids []string) error {
	found, err := qs.read(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if r := found[id]; r == nil || !r.sendable() {
			qs.release(id)
		}
	}
	return nil
}

// read reads subscriptions, stores them in their queues, and returns them by id. Deleted
// subscriptions are not in the result.
func (qs *queues) read(ctx context.Context, ids []string) (map[string]*receiver, error) {
	ctx, cancel := context.WithTimeout(ctx, lease.RenewEvery)
	defer cancel()
	in, args := db.InArgs(ids)
	found := map[string]*receiver{}
	if err := qs.s.readReceivers(ctx, qs.s.db, "WHERE id IN "+in, args, found); err != nil {
		return nil, err
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for id, r := range found {
		if q := qs.byID[id]; q != nil {
			q.learn(r)
		}
	}
	return found, nil
}

// renew renews the leases of deliveries, and drops the deliveries whose claims were lost.
func (qs *queues) renew(ctx context.Context, all []*Delivery) error {
	began := qs.s.now()
	held, err := qs.s.leases.RenewEach(ctx, ownersOf(all))
	if err != nil {
		return err
	}
	owned := make(map[string]bool, len(held))
	for _, id := range held {
		owned[id] = true
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, d := range all {
		switch {
		case owned[d.ID]:
			d.leased = began
		case qs.claimed[d.ID] == d:
			qs.drop(d)
		}
	}
	return nil
}

// mayEnd is a minimum age. A lease of this age was not renewed in time, and another sender may
// claim its delivery soon. It is therefore renewed before its delivery is sent.
const mayEnd = lease.Duration - lease.RenewEvery

// renewEnded must be called before d is sent. If the lease of d has ended or ends soon, it renews
// all old leases. This happens, for example, if the process was stopped for a while. Other senders
// may have claimed the deliveries in the meantime; renew drops these deliveries. If the database
// does not answer, d is sent, because then no other sender can have claimed it.
func (qs *queues) renewEnded(d *Delivery) {
	old := qs.s.now().Add(-mayEnd)
	qs.mu.Lock()
	ends := qs.claimed[d.ID] == d && d.leased.Before(old)
	qs.mu.Unlock()
	if !ends {
		return
	}
	all := qs.leasedBefore(old)
	if err := qs.renew(qs.ctx, all); err != nil && qs.ctx.Err() == nil {
		qs.s.log.Warn("claims not renewed", "count", len(all), "err", err)
	}
}
