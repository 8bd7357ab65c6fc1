package webhook

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// maxEvents and maxBytes bound one delivery; a single event may be larger, up to maxEvent
// and what the database stores. maxMade bounds what is made of the versions of a chunk.
const (
	maxEvents = delivery.MaxEvents
	maxBytes  = delivery.MaxBytes
	maxEvent  = 48 << 20
	maxMade   = 64 << 20
)

// measure finds how large an event may be that is stored whole: the database takes values
// up to a setting of its server.
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

// match finds the rules that the changes of a chunk match, and makes the deliveries,
// except those of an event that is stored apart. Errors: isTooLarge.
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

// deliveries makes the deliveries of matched events, of at most so many bytes.
// Errors: isTooLarge.
func (w *Worker) deliveries(ctx context.Context, idx *index, m *event.Matcher, p *event.Printer, events []*event.Event, most int) ([]*delivery.Delivery, error) {
	m.MaxSize = int64(most)
	if err := m.Snapshots(ctx, events); err != nil {
		return nil, err
	}
	return w.batch(idx, m, p, events, most)
}

// batch is what some subscriptions get alike: one payload, whose events have the
// heads of each where there are several.
type batch struct {
	delivery.Delivery // without a subscription
	targets           []*target
}

// batch batches the events of each subscription in the order of their moments:
// one event per change and subscription, with one snapshot row per distinct
// selection of its rules. Errors: change.ErrTooLarge for payloads of more than most bytes.
func (w *Worker) batch(idx *index, m *event.Matcher, p *event.Printer, events []*event.Event, most int) ([]*delivery.Delivery, error) {
	var all []*batch
	size := 0
	open := map[any]*batch{} // by group, or by target
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

// text appends an event as targets get it that get the same. One that is too large to be
// stored is printed without its long values, and if need be without its changes.
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

// fits reports whether an event of so many bytes can be added.
func (b *batch) fits(size int) bool {
	t := b.targets[0]
	if len(b.targets) > 1 {
		size += (b.Events + 1) * t.group.head
	}
	return b.Events < t.maxEvents && len(b.Payload)+size <= maxBytes
}

// deliveries appends one delivery for each subscription.
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

// payload allocates for a number of events of about the same size.
func payload(size, events int) []byte {
	return make([]byte, 0, min((size+size/32+1)*events, maxBytes)+32)
}
