package webhook

import (
	"context"

	"github.com/alds-dev/alds/internal/delivery"
	"github.com/alds-dev/alds/internal/event"
)

// maxEvents and maxBytes bound one delivery; a single event may be larger.
const (
	maxEvents = 100
	maxBytes  = 256 << 10
)

// match finds the rules that the changes of a chunk match, and makes the
// deliveries.
func (w *Worker) match(ctx context.Context, idx *index, c *chunk) error {
	w.metrics.versions.Add(float64(len(c.versions)))
	audits := map[int64]*event.Audit{}
	for _, a := range c.audits {
		audits[a.ID] = &a.Audit
	}
	m := idx.NewMatcher(w.actors, func(by string, n int) { w.metrics.decided.WithLabelValues(by).Add(float64(n)) })
	events, err := m.Match(ctx, audits, c.versions)
	if err != nil || len(events) == 0 {
		return err
	}
	if err := m.Snapshots(ctx, events); err != nil {
		return err
	}
	p, err := idx.Printer(ctx, events)
	if err != nil {
		return err
	}
	c.deliveries, err = w.batch(idx, m, p, events)
	return err
}

// batch batches the events of each subscription in the order of their moments:
// one event per change and subscription, with one snapshot row per distinct
// selection of its rules.
func (w *Worker) batch(idx *index, m *event.Matcher, p *event.Printer, events []*event.Event) ([]*delivery.Delivery, error) {
	var all []*delivery.Delivery
	open := map[*target]*delivery.Delivery{}
	var common, text []byte
	for i, e := range events {
		var err error
		if common, err = p.Common(common[:0], e); err != nil {
			return nil, err
		}
		for _, one := range e.Targets() {
			if text = m.Text(text[:0], one, e, common); len(text) == 0 {
				continue
			}
			t := idx.targets[one]
			d := open[t]
			if d == nil || d.Events >= t.maxEvents || len(d.Payload)+len(text) > maxBytes {
				d = &delivery.Delivery{Subscription: t.id, Audit: e.Audit.ID, First: e.Step.Now.Moment}
				d.Payload = append(payload(len(text), min(t.maxEvents, len(events)-i)), `{"events":[`...)
				open[t] = d
				all = append(all, d)
			} else {
				d.Payload = append(d.Payload, ',')
			}
			d.Payload = append(d.Payload, text...)
			d.Events++
			d.Last, d.Committed = e.Step.Now.Moment, max(d.Committed, e.Audit.At)
			w.metrics.matched.Inc()
		}
	}
	for _, d := range all {
		d.Payload = append(d.Payload, "]}"...)
		d.ID = delivery.NewID()
	}
	return all, nil
}

// payload allocates for a number of events of about the same size.
func payload(size, events int) []byte {
	return make([]byte, 0, min((size+size/32+1)*events, maxBytes)+32)
}
