package webhook

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// Limits of a fan-out. All except maxEvents are sizes in bytes.
const (
	maxEvents = delivery.MaxEvents // number of events in one delivery
	maxBytes  = delivery.MaxBytes  // payload of one delivery; a single event may be larger
	maxEvent  = 48 << 20           // one event, if the database can store values of this size
	maxMade   = 64 << 20           // all snapshots of one chunk; the same limit applies to all payloads of one chunk
)

// measure sets w.largest if it is not set yet. The maximum size of a value is a setting of the
// database server.
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

// match finds the rules that match the changes of a chunk, and sets c.deliveries. If the event of
// the chunk must be stored in parts, it sets c.parts instead. After an error, a smaller chunk may
// succeed; see isTooLarge.
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

// deliveries creates the deliveries of matched events. The parameter most is the maximum size of
// their snapshots, and also of their payloads, in bytes. deliveries returns change.ErrTooLarge if
// this size is exceeded, and errors of reading the snapshots.
func (w *Worker) deliveries(ctx context.Context, idx *index, m *event.Matcher, p *event.Printer, events []*event.Event, most int) ([]*delivery.Delivery, error) {
	m.MaxSize = int64(most)
	if err := m.Snapshots(ctx, events); err != nil {
		return nil, err
	}
	return w.batch(idx, m, p, events, most)
}

// batch is a delivery that is created once for each of its targets. If it has several targets, its
// payload contains delivery.HeadMark in place of the head of each event.
type batch struct {
	delivery.Delivery // the delivery, without a subscription
	targets           []*target
}

// batch puts the events for each subscription into deliveries, in the order of their moments. A
// subscription gets one event per change, with one snapshot row for each distinct selection of its
// rules. The parameter most is the maximum size of all payloads together, in bytes. If they are
// larger, batch returns change.ErrTooLarge.
func (w *Worker) batch(idx *index, m *event.Matcher, p *event.Printer, events []*event.Event, most int) ([]*delivery.Delivery, error) {
	var all []*batch
	size := 0
	open := map[any]*batch{} // by target.key: the last batch
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

// text returns an event in the form for the targets. The result uses the memory of b. If the event
// is too large to be stored, text omits long values. If the event is still too large, text omits
// all changes. The result is empty if no target may get the event.
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

// fits reports whether an event can be added to the batch. size is the size of the event in bytes.
// If the payload is shared, fits adds the size of the longest head for each event.
func (b *batch) fits(size int) bool {
	t := b.targets[0]
	if len(b.targets) > 1 {
		size += (b.Events + 1) * t.group.head
	}
	return b.Events < t.maxEvents && len(b.Payload)+size <= maxBytes
}

// deliveries appends one delivery for each target of the batch to the list all. Several targets
// share one payload.
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

// payload returns an empty payload. Its capacity is for the given number of events. size is about
// the size of each event in bytes.
func payload(size, events int) []byte {
	return make([]byte, 0, min((size+size/32+1)*events, maxBytes)+32)
}
