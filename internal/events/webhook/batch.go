package webhook

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// Limits of a fan-out. Units: bytes, except maxEvents.
const (
	maxEvents = delivery.MaxEvents // in one delivery
	maxBytes  = delivery.MaxBytes  // payload of one delivery; a single event may be larger
	maxEvent  = 48 << 20           // one event, if the database can store values of this size
	maxMade   = 64 << 20           // snapshots of one chunk, and separately its payloads
)

// measure sets w.largest. The maximum size of a value is a setting of the database server.
func (w *Worker) measure(ctx context.Context) error {
	if w.largest.Load() > 0 {
		return nil
	}
	most, err := w.db.LargestValue(ctx)
	if err == nil {
		w.largest.Store(int64(min(most, w.maxEvent)))
	}
	return err
}

// match finds the rules that the changes of a chunk match, and sets c.deliveries. If the event of
// the chunk is stored in parts, it sets c.parts instead.
// Errors: after some errors a smaller chunk may succeed, see isTooLarge.
func (w *Worker) match(ctx context.Context, idx *index, c *chunk) error {
	hold := w.memory.Hold(nil)
	defer hold.Release()
	ctx = memory.With(ctx, hold)
	w.metrics.versions.Add(float64(len(c.versions)))
	audits := map[int64]*event.Audit{}
	for _, a := range c.audits {
		audits[a.ID] = &a.Audit
	}
	m := w.matcher(idx)
	events, err := m.Match(ctx, audits, c.versions)
	if err == nil {
		err = w.measure(ctx)
	}
	if err != nil || len(events) == 0 {
		return err
	}
	p, err := idx.Printer(ctx, events)
	if err != nil {
		return err
	}
	if c.apart {
		c.parts = &parts{w, idx, p, events[0]}
		return nil
	}
	c.deliveries, err = w.deliveries(ctx, idx, m, p, events, w.maxMade)
	return err
}

func (w *Worker) matcher(idx *index) *event.Matcher {
	return idx.NewMatcher(w.actors, func(by string, n int) { w.metrics.decided.WithLabelValues(by).Add(float64(n)) })
}

// deliveries makes the deliveries of matched events. most is the maximum size of their snapshots,
// and also of their payloads, in bytes.
// Errors: change.ErrTooLarge; also those of reading the snapshots.
func (w *Worker) deliveries(ctx context.Context, idx *index, m *event.Matcher, p *event.Printer, events []*event.Event, most int) ([]*delivery.Delivery, error) {
	m.MaxSize = int64(most)
	if err := m.Snapshots(ctx, events); err != nil {
		return nil, err
	}
	return w.batch(idx, m, p, events, most)
}

// batch is a delivery that all of its targets get. If it has several targets, its payload has
// delivery.HeadMark in place of the head of each event.
type batch struct {
	delivery.Delivery // without a subscription
	targets           []*target
}

// batch puts the events of each subscription into deliveries, in the order of their moments. A
// subscription gets one event per change, with one snapshot row per distinct selection of its
// rules. Errors: change.ErrTooLarge if the payloads together have more than most bytes.
func (w *Worker) batch(idx *index, m *event.Matcher, p *event.Printer, events []*event.Event, most int) ([]*delivery.Delivery, error) {
	var all []*batch
	size := 0
	open := map[any]*batch{} // the latest batch, by target.key
	var text []byte
	for i, e := range events {
		for _, targets := range idx.alike(e.Targets()) {
			key := targets[0].key()
			var err error
			if text, err = w.text(text[:0], m, p, targets, e); err != nil {
				return nil, err
			}
			if len(text) == 0 {
				continue
			}
			if size += len(text); size > most {
				return nil, change.ErrTooLarge
			}
			b := open[key]
			if b == nil || !slices.Equal(b.targets, targets) || !b.fits(len(text)) {
				b = &batch{targets: targets}
				b.Audit, b.Write, b.Trace, b.First = e.Audit.ID, e.Audit.Request, e.Audit.Trace, e.Step.Now.Moment
				b.Payload = append(payload(len(text), min(targets[0].maxEvents, len(events)-i)), `{"events":[`...)
				if targets[0].ordered {
					b.Asset = e.Step.Now.ID
				}
				open[key] = b
				all = append(all, b)
			} else {
				b.Payload = append(b.Payload, ',')
			}
			b.Payload = append(b.Payload, text...)
			b.Events++
			b.Last, b.Committed = e.Step.Now.Moment, max(b.Committed, e.Audit.At)
			w.metrics.matched.Add(float64(len(targets)))
		}
	}
	var made []*delivery.Delivery
	for _, b := range all {
		b.Payload = append(b.Payload, "]}"...)
		made = b.deliveries(made)
	}
	return made, nil
}

// text returns an event as all of the targets get it. The result uses the memory of b. If the event
// is too large to be stored, text leaves out long values. If it is still too large, text leaves out
// all changes. The result is empty if the targets do not see the asset.
func (w *Worker) text(b []byte, m *event.Matcher, p *event.Printer, targets []*target, e *event.Event) (text []byte, err error) {
	head := targets[0].Head
	if len(targets) > 1 {
		head = []byte{delivery.HeadMark}
	}
	forms := []event.Form{event.Whole, event.Reduced, event.Bare}
	if m.Bare {
		forms = forms[1:]
	}
	for _, form := range forms {
		text, err = m.Print(b[:0], p, &targets[0].Target, head, e, form)
		if err != nil || len(text) <= int(w.largest.Load()) {
			break
		}
	}
	return text, err
}

// fits reports whether an event of size bytes can be added to the batch. The size of a shared
// payload includes the longest head for each event.
func (b *batch) fits(size int) bool {
	t := b.targets[0]
	if len(b.targets) > 1 {
		size += (b.Events + 1) * t.group.head
	}
	return b.Events < t.maxEvents && len(b.Payload)+size <= maxBytes
}

// deliveries appends one delivery for each target. Several targets share one payload.
func (b *batch) deliveries(all []*delivery.Delivery) []*delivery.Delivery {
	if len(b.targets) > 1 {
		b.Shared, b.Payload = &delivery.Payload{ID: delivery.NewID(), Body: b.Payload}, nil
	}
	for _, t := range b.targets {
		d := b.Delivery
		d.ID, d.Subscription, d.Since = delivery.NewID(), t.id, t.Since
		if d.Shared != nil {
			d.Head = t.Head
		}
		all = append(all, &d)
	}
	return all
}

// payload returns an empty payload with capacity for a number of events of about size bytes each.
func payload(size, events int) []byte {
	return make([]byte, 0, min((size+size/32+1)*events, maxBytes)+32)
}
