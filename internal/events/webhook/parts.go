package webhook

import (
	"context"
	"errors"
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/store/db"
)

// partBytes is the maximum size in bytes of the payloads in one part. A larger payload is stored
// alone.
const partBytes = 4 << 20

// parts is an event whose deliveries are stored in parts, because all of them together are too
// large. Each part contains the deliveries of a few subscriptions, and is stored in its own
// transaction. If the event is tried again, deliveries that are already stored are skipped.
//
// If the event is too large for a subscription, the subscription gets the event without long
// values, and with only Oids in its snapshot. If the event cannot be created at all for a
// subscription, its delivery is stored as set aside.
type parts struct {
	w     *Worker
	idx   *index
	p     *event.Printer
	event *event.Event
}

// store creates the deliveries and stores them while the audit a is leased.
func (x *parts) store(ctx context.Context, a *audit) error {
	var part []*delivery.Delivery
	size := 0
	flush := func() error {
		err := x.insert(ctx, a, part)
		part, size = nil, 0
		return err
	}
	for _, targets := range x.idx.alike(x.event.Targets()) {
		made, err := x.make(ctx, targets, false)
		if err != nil {
			return err
		}
		n := bytesOf(made)
		if size > 0 && size+n > partBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		if n > partBytes {
			if err = x.insert(ctx, a, made); isTooLarge(err) {
				if made, err = x.make(ctx, targets, true); err == nil {
					err = x.insert(ctx, a, made)
				}
			}
			if err != nil {
				return err
			}
			continue
		}
		part, size = append(part, made...), size+n
	}
	return flush()
}

// make creates the deliveries of targets that get the same event. If bare is true, the event has no
// long values, and only Oids in its snapshot. If the whole event is too large, make calls itself
// with bare set to true.
func (x *parts) make(ctx context.Context, targets []*target, bare bool) ([]*delivery.Delivery, error) {
	hold := x.w.memory.Hold(x)
	defer hold.Release()
	only := *x.event
	only.Rules = slices.DeleteFunc(slices.Clone(only.Rules), func(r *event.Rule) bool {
		return !slices.Contains(targets, x.idx.targets[r.Target])
	})
	m := x.w.matcher(x.idx)
	m.Bare = bare
	made, err := x.w.deliveries(memory.With(ctx, hold), x.idx, m, x.p, []*event.Event{&only}, x.w.maxEvent)
	if errors.Is(err, change.ErrTooLarge) && !bare {
		return x.make(ctx, targets, true)
	}
	if err == nil || isUnreachable(err) || ctx.Err() != nil {
		return made, err
	}
	return x.setAside(ctx, &only, targets, err)
}

// setAside creates deliveries that are stored as set aside, and that are never sent. Their event
// has no changes, and its snapshot contains only the Oid of the asset. The parameter why is the
// reason, which is stored and logged.
func (x *parts) setAside(ctx context.Context, e *event.Event, targets []*target, why error) ([]*delivery.Delivery, error) {
	m := x.w.matcher(x.idx)
	m.Bare = true
	if err := m.Snapshots(ctx, []*event.Event{e}); err != nil {
		return nil, err
	}
	var made []*delivery.Delivery
	for _, t := range targets {
		text, err := m.Print([]byte(`{"events":[`), x.p, &t.Target, t.Head, e, event.Bare)
		if err != nil {
			return nil, err
		}
		now := e.Step.Now.Moment
		x.w.log.Error("event set aside", "subscription", t.id, "audit", e.Audit.ID, "write", e.Audit.Request, "moment", now, "err", why)
		made = append(made, &delivery.Delivery{
			ID: delivery.NewID(), Subscription: t.id, Since: t.Since, Audit: e.Audit.ID, Write: e.Audit.Request, Trace: e.Audit.Trace,
			First: now, Last: now, Events: 1, Committed: e.Audit.At, Payload: append(text, "]}"...), SetAside: why.Error(),
		})
	}
	return made, nil
}

// insert stores the deliveries that are not stored yet, while the audit a is leased. Then it sends
// them.
func (x *parts) insert(ctx context.Context, a *audit, all []*delivery.Delivery) error {
	if len(all) == 0 {
		return nil
	}
	var batch *delivery.Batch
	err := x.w.db.Write(ctx, func(tx *db.Tx) error {
		err := x.w.leases.Update(ctx, tx, a.owner, []int64{a.ID}, "fan_moment = ?", all[0].First-1)
		if err != nil {
			return err
		}
		left, err := notStored(ctx, tx, all)
		if err == nil {
			batch, err = x.w.sender.Insert(ctx, tx, left)
		}
		return err
	})
	if err == nil {
		x.w.sender.Enqueue(batch)
	}
	return err
}

// notStored returns the deliveries that are not stored yet. All deliveries must be of the same
// event.
func notStored(ctx context.Context, tx *db.Tx, all []*delivery.Delivery) ([]*delivery.Delivery, error) {
	ids := make([]string, len(all))
	for i, d := range all {
		ids[i] = d.Subscription
	}
	stored := map[string]bool{}
	for in, args := range db.InChunks(ids) {
		some, err := db.Column[string](ctx, tx, "SELECT subscription_id FROM webhook_delivery WHERE subscription_id IN "+in+
			" AND audit_id = ? AND first_moment = ? AND kind = 0", append(args, all[0].Audit, all[0].First)...)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			stored[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(d *delivery.Delivery) bool { return stored[d.Subscription] }), nil
}

// bytesOf returns the total size of the payloads in bytes. A shared payload is counted once.
func bytesOf(all []*delivery.Delivery) int {
	n := 0
	for i, d := range all {
		if n += len(d.Payload); i == 0 && d.Shared != nil {
			n += len(d.Shared.Body)
		}
	}
	return n
}
