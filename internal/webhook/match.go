package webhook

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/delivery"
	"github.com/alds-dev/alds/internal/memfilter"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// match finds out who wants what of a chunk and builds the deliveries.
func (w *Worker) match(ctx context.Context, idx *index, c *chunk) error {
	w.metrics.versions.Add(float64(len(c.versions)))
	events, err := w.events(ctx, idx, c)
	if err != nil || len(events) == 0 {
		return err
	}
	m := &matching{w: w, ctx: ctx, near: c.near, rows: map[string]map[*event]json.RawMessage{}}
	if err := m.filter(events); err != nil {
		return err
	}
	if err := m.snapshots(events); err != nil {
		return err
	}
	p, err := w.printer(ctx, events)
	if err != nil {
		return err
	}
	c.deliveries, err = m.deliveries(p, events)
	return err
}

// events computes the differences of the versions that some subscription may
// want and keeps those that one does, filters aside.
func (w *Worker) events(ctx context.Context, idx *index, c *chunk) ([]*event, error) {
	audits := map[int64]*claimed{}
	for _, a := range c.audits {
		audits[a.id] = a
	}
	var err error
	if c.near, err = memfilter.Load(ctx, w.db, w.loader, idx.hops, c.versions); err != nil {
		return nil, err
	}
	var possible []change.Version
	var wishes []wishes
	var count [memfilter.True + 1]int
	for i := range c.versions {
		v := &c.versions[i]
		if ws := possibleFor(idx, memfilter.Input{Version: v, Related: c.near}, audits[v.Audit].generation, &count); ws.some() {
			possible = append(possible, *v)
			wishes = append(wishes, ws)
		}
	}
	w.metrics.decided.WithLabelValues("memory").Add(float64(count[memfilter.True] + count[memfilter.False]))
	steps, err := w.loader.Steps(ctx, w.db, possible)
	if err != nil {
		return nil, err
	}
	var events []*event
	for i := range steps {
		changes, err := w.differ.Diff(&steps[i])
		if err != nil {
			return nil, err
		}
		if len(changes) == 0 {
			continue
		}
		ws := wishes[i]
		idle := func(x *wish) bool { return !x.wants(changes) }
		ws.sure, ws.open = slices.DeleteFunc(ws.sure, idle), slices.DeleteFunc(ws.open, idle)
		if ws.some() {
			events = append(events, &event{step: steps[i], changes: changes, audit: audits[steps[i].Now.Audit], wishes: ws.sure, open: ws.open})
		}
	}
	return events, nil
}

// wishes are those that a version may be for: surely, or if a filter or a
// userContext says so.
type wishes struct{ sure, open []*wish }

func (w *wishes) some() bool { return len(w.sure)+len(w.open) > 0 }

// possibleFor lists the wishes that a version may be for, as far as memory
// tells; generation is that of its write. Answers are counted.
func possibleFor(idx *index, v memfilter.Input, generation int64, count *[memfilter.True + 1]int) (ws wishes) {
	for _, x := range idx.of(v.Version) {
		if generation < x.target.since {
			continue
		}
		if x.filterKey == "" {
			ws.sure = append(ws.sure, x)
			continue
		}
		got := memfilter.Unknown
		if x.memory != nil {
			if v.Actor = nil; !x.hasContext {
				v.Actor = &auth.System
			}
			got = x.memory.Evaluate(v)
			count[got]++
		}
		switch {
		case got == memfilter.False:
		case got == memfilter.True && !x.hasContext:
			ws.sure = append(ws.sure, x)
		default:
			ws.open = append(ws.open, x)
		}
	}
	return ws
}

// matching is the work on one chunk's events.
type matching struct {
	w    *Worker
	ctx  context.Context //nolint:containedctx // lives as long as one call of match
	near memfilter.Related
	rows map[string]map[*event]json.RawMessage // by wish.rowKey
}

// asked is a question that several wishes share, and the events it is about.
type asked struct {
	wish   *wish
	events []*event
}

// gather groups events by a key of some of their wishes.
func gather(events []*event, of func(*event) []*wish, key func(*wish) string) map[string]*asked {
	by := map[string]*asked{}
	for _, e := range events {
		for _, x := range of(e) {
			k := key(x)
			g := by[k]
			if g == nil {
				g = &asked{wish: x}
				by[k] = g
			}
			if n := len(g.events); n == 0 || g.events[n-1] != e {
				g.events = append(g.events, e)
			}
		}
	}
	return by
}

// filter decides about the wishes that are open: those whose filter and
// userContext hold join the others.
func (m *matching) filter(events []*event) error {
	matched := map[string]map[*event]bool{}
	open := func(e *event) []*wish { return e.open }
	for key, g := range gather(events, open, func(x *wish) string { return x.filterKey }) {
		matched[key] = map[*event]bool{}
		err := m.each(g, func(who auth.Actor, part []*event) error { return m.ask(g.wish, who, part, matched[key]) })
		if err != nil {
			return err
		}
	}
	for _, e := range events {
		for _, x := range e.open {
			if matched[x.filterKey][e] {
				e.wishes = append(e.wishes, x)
			}
		}
		e.open = nil
	}
	return nil
}

// ask notes for which events a wish's filter holds as who sees the data; what
// memory cannot tell is asked by one statement.
func (m *matching) ask(x *wish, who auth.Actor, events []*event, matched map[*event]bool) error {
	var rest []*event
	for _, e := range events {
		got := memfilter.Unknown
		if x.memory != nil && x.hasContext { // without, it has been asked before
			got = x.memory.Evaluate(memfilter.Input{Version: &e.step.Now, Related: m.near, Actor: &who})
		}
		if matched[e] = got == memfilter.True; got == memfilter.Unknown {
			rest = append(rest, e)
		}
	}
	m.w.metrics.decided.WithLabelValues("memory").Add(float64(len(events) - len(rest)))
	m.w.metrics.decided.WithLabelValues("sql").Add(float64(len(rest)))
	if len(rest) == 0 {
		return nil
	}
	found, err := m.w.find.Matching(m.ctx, m.w.db, who, x.from, x.filter, x.with, oids(rest))
	for i := range found {
		matched[rest[i]] = found[i]
	}
	return err
}

// snapshots reads the rows that the remaining wishes select.
func (m *matching) snapshots(events []*event) error {
	for key, g := range gather(events, func(e *event) []*wish { return e.wishes }, func(x *wish) string { return x.rowKey }) {
		rows := map[*event]json.RawMessage{}
		m.rows[key] = rows
		if len(g.wish.sel) == 0 {
			for _, e := range g.events {
				rows[e] = append(e.oid().Now().Append([]byte(`{"_oid":"`)), `"}`...)
			}
			continue
		}
		err := m.each(g, func(who auth.Actor, part []*event) error {
			found, err := m.w.find.Snapshot(m.ctx, m.w.db, who, g.wish.from, g.wish.sel, oids(part))
			for i := range found {
				rows[part[i]] = found[i]
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func oids(events []*event) []oid.OID {
	at := make([]oid.OID, len(events))
	for i, e := range events {
		at[i] = e.oid()
	}
	return at
}

// printer looks up what events mention besides their own asset.
func (w *Worker) printer(ctx context.Context, events []*event) (*printer, error) {
	p := &printer{public: w.public, types: map[int64]*meta.Type{}, members: map[int64][]byte{}}
	var others, actors []int64
	for _, e := range events {
		if p.members[e.audit.actor] == nil {
			p.members[e.audit.actor] = []byte("null")
			actors = append(actors, e.audit.actor)
		}
		for i := range e.changes {
			others = p.mentions(&e.changes[i], others)
		}
	}
	for len(others) > 0 {
		n := min(len(others), db.MaxIn)
		if err := w.types(ctx, p, others[:n]); err != nil {
			return nil, err
		}
		others = others[n:]
	}
	return p, w.instigators(ctx, p, actors)
}

// mentions notes the types of the assets a relation's values name, and appends
// those that must be looked up.
func (p *printer) mentions(c *change.Change, others []int64) []int64 {
	if c.Attr.Kind != meta.Relation {
		return others
	}
	for _, v := range []any{c.Old, c.New} {
		id, ok := v.(int64)
		if !ok {
			continue
		}
		if _, known := p.types[id]; known {
			continue
		}
		if leaves := c.Attr.Related.Concrete; len(leaves) == 1 {
			p.types[id] = leaves[0]
			continue
		}
		p.types[id] = nil
		others = append(others, id)
	}
	return others
}

func (w *Worker) types(ctx context.Context, p *printer, ids []int64) error {
	in, args := db.InArgs(ids)
	rows, err := w.db.Query(ctx, "SELECT id, type FROM asset WHERE id IN "+in, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var code int
		if err := rows.Scan(&id, &code); err != nil {
			return err
		}
		p.types[id], _ = w.model.TypeByCode(code)
	}
	return rows.Err()
}

// deliveries batches the events per subscription, in the order of their
// moments: one event per change and subscription, with one snapshot row per
// definition that asks for another one.
func (m *matching) deliveries(p *printer, events []*event) ([]*delivery.Delivery, error) {
	var all []*delivery.Delivery
	open := map[*target]*delivery.Delivery{}
	var middle, text []byte
	for i, e := range events {
		if len(e.wishes) == 0 {
			continue
		}
		var err error
		if middle, err = p.middle(middle[:0], e); err != nil {
			return nil, err
		}
		slices.SortStableFunc(e.wishes, func(a, b *wish) int { return a.order - b.order })
		for _, t := range targets(e.wishes) {
			text = m.text(text[:0], t, e, middle)
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

// payload makes room for so many events of about that size.
func payload(size, events int) []byte {
	return make([]byte, 0, min((size+size/32+1)*events, maxBytes)+32)
}

func targets(wishes []*wish) []*target {
	var all []*target
	for _, x := range wishes {
		if !slices.Contains(all, x.target) {
			all = append(all, x.target)
		}
	}
	return all
}

// text appends an event as one subscription gets it; nothing when the member it
// is evaluated for may see none of its rows.
func (m *matching) text(b []byte, t *target, e *event, middle []byte) []byte {
	b = append(b, `{"webhookId":`...)
	b = append(b, t.webhookID...)
	b = append(b, ',')
	b = append(b, middle...)
	b = append(b, `,"snapshot":[`...)
	var seen []string
	for _, x := range e.wishes {
		if x.target != t || slices.Contains(seen, x.rowKey) {
			continue
		}
		row := m.rows[x.rowKey][e]
		if row == nil {
			continue
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen = append(seen, x.rowKey)
		b = append(b, row...)
	}
	if len(seen) == 0 {
		return nil
	}
	return append(b, "]}"...)
}
