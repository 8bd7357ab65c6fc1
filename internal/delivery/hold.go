package delivery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/lease"
)

// refresh gives lanes their subscriptions as they are now; what is queued for
// one that is paused, disabled or gone goes back.
func (l *lanes) refresh(ctx context.Context, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, lease.RenewEvery)
	defer cancel()
	in, args := db.InArgsOf(ids)
	found := map[string]*receiver{}
	if err := l.s.readReceivers(ctx, l.s.db, "WHERE id IN "+in, args, found); err != nil {
		return err
	}
	for _, id := range ids {
		r := found[id]
		if r == nil || !r.isOpen() {
			l.giveBack(id)
			continue
		}
		l.mu.Lock()
		if n := l.open[id]; n != nil {
			n.receiver = r
		}
		l.mu.Unlock()
	}
	return nil
}

// giveBack returns to the database what a lane has queued.
func (l *lanes) giveBack(id string) {
	var ids []string
	l.mu.Lock()
	if n := l.open[id]; n != nil {
		for _, d := range n.queue {
			ids = append(ids, d.ID)
			l.bytes -= len(d.Payload)
			delete(l.held, d.ID)
		}
		l.back(n)
	}
	l.mu.Unlock()
	l.s.release(ids)
}

// back gives up what a lane has queued; l.mu is held.
func (l *lanes) back(n *lane) {
	n.queue, n.events, n.bytes = nil, 0, 0
}

// close lets no new work in, waits for the requests in the air, and gives the
// rest back to the database.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	for _, n := range l.open {
		n.poke()
	}
	l.mu.Unlock()
	l.s.record.hurry()
	timer := time.AfterFunc(min(l.s.o.Timeout, shutdownWait), l.cancel)
	l.running.Wait()
	timer.Stop()
	l.cancel()
	l.s.record.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s.release(l.ids())
	clear(l.held)
}

func (l *lanes) ids() []string {
	ids := make([]string, 0, len(l.held))
	for id := range l.held {
		ids = append(ids, id)
	}
	return ids
}

// keep renews the claims of everything held, lets go of what was lost, and
// takes up what has changed about the subscriptions.
func (l *lanes) keep(ctx context.Context) {
	tick := time.NewTicker(lease.RenewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		ids, open := l.ids(), slices.Collect(maps.Keys(l.open))
		l.mu.Unlock()
		for part := range slices.Chunk(open, db.MaxIn) {
			if err := l.refresh(ctx, part); err != nil && ctx.Err() == nil {
				l.s.log.Warn("subscriptions not read", "count", len(part), "err", err)
			}
		}
		if err := l.renew(ctx, ids); err != nil && ctx.Err() == nil {
			l.s.log.Warn("claims not renewed", "count", len(ids), "err", err)
		}
	}
}

// renew renews claims and drops those that were lost.
func (l *lanes) renew(ctx context.Context, ids []string) error {
	held, err := l.s.leases.Renew(ctx, l.s.owner, ids)
	if err != nil || len(held) == len(ids) {
		return err
	}
	owned := make(map[string]bool, len(held))
	for _, id := range held {
		owned[id] = true
	}
	l.drop(slices.DeleteFunc(ids, func(id string) bool { return owned[id] }))
	return nil
}

// drop takes deliveries that are no longer this worker's out of the queues.
func (l *lanes) drop(ids []string) {
	l.settled(ids...)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.open {
		n.queue = slices.DeleteFunc(n.queue, func(d *Delivery) bool {
			if l.held[d.ID] != nil {
				return false
			}
			n.events -= d.Events
			n.bytes -= len(d.Payload)
			return true
		})
	}
}
