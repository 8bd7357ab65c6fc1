package webhook

import (
	"slices"

	"github.com/alds-dev/alds/internal/delivery"
)

// maxEvents and maxBytes bound one delivery; a single event may be larger.
const (
	maxEvents = 100
	maxBytes  = 256 << 10
)

// deliveries batches the events of each subscription in the order of their
// moments: one event per change and subscription, with one snapshot row per
// distinct selection of its rules.
func (m *matcher) deliveries(p *printer, events []*event) ([]*delivery.Delivery, error) {
	var all []*delivery.Delivery
	open := map[*target]*delivery.Delivery{}
	var common, text []byte
	for i, e := range events {
		if len(e.rules) == 0 {
			continue
		}
		var err error
		if common, err = p.common(common[:0], e); err != nil {
			return nil, err
		}
		slices.SortStableFunc(e.rules, func(a, b *rule) int { return a.order - b.order })
		for _, t := range targets(e.rules) {
			text = m.text(text[:0], t, e, common)
			if len(text) == 0 {
				continue
			}
			d := open[t]
			if d == nil || d.Events >= t.maxEvents || len(d.Payload)+len(text) > maxBytes {
				d = &delivery.Delivery{Subscription: t.id, Audit: e.audit.id, First: e.step.Now.Moment}
				d.Payload = append(payload(len(text), min(t.maxEvents, len(events)-i)), `{"events":[`...)
				open[t] = d
				all = append(all, d)
			} else {
				d.Payload = append(d.Payload, ',')
			}
			d.Payload = append(d.Payload, text...)
			d.Events++
			d.Last, d.Committed = e.step.Now.Moment, max(d.Committed, e.audit.at)
			m.w.metrics.matched.Inc()
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

func targets(rules []*rule) []*target {
	var all []*target
	for _, r := range rules {
		if !slices.Contains(all, r.target) {
			all = append(all, r.target)
		}
	}
	return all
}

// text appends an event as one subscription gets it; nothing when no rule has a
// row, because their userContexts may not see the asset.
func (m *matcher) text(b []byte, t *target, e *event, common []byte) []byte {
	b = append(b, `{"webhookId":`...)
	b = append(b, t.webhookID...)
	b = append(b, ',')
	b = append(b, common...)
	b = append(b, `,"snapshot":[`...)
	var done []string
	for _, r := range e.rules {
		if r.target != t || slices.Contains(done, r.rowKey) {
			continue
		}
		row := m.rows[r.rowKey][e]
		if row == nil {
			continue
		}
		if len(done) > 0 {
			b = append(b, ',')
		}
		done = append(done, r.rowKey)
		b = append(b, row...)
	}
	if len(done) == 0 {
		return nil
	}
	return append(b, "]}"...)
}
