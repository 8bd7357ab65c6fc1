package webhook

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/memfilter"
	"github.com/alds-dev/alds/internal/oid"
)

// match finds the rules that the changes of a chunk match, and makes the
// deliveries.
func (w *Worker) match(ctx context.Context, idx *index, c *chunk) error {
	w.metrics.versions.Add(float64(len(c.versions)))
	m := &matcher{w: w, rows: map[string]map[*event]json.RawMessage{}}
	events, err := m.events(ctx, idx, c)
	if err != nil || len(events) == 0 {
		return err
	}
	if err := m.filter(ctx, events); err != nil {
		return err
	}
	if err := m.snapshots(ctx, events); err != nil {
		return err
	}
	p, err := w.printer(ctx, events)
	if err != nil {
		return err
	}
	c.deliveries, err = m.deliveries(p, events)
	return err
}

// matcher matches the events of one chunk.
type matcher struct {
	w       *Worker
	related memfilter.Related
	rows    map[string]map[*event]json.RawMessage // snapshots, by rule.rowKey
}

// candidates are the rules that a version may match.
type candidates struct {
	matched []*rule // surely
	open    []*rule // if their filter or userContext matches
}

func (c *candidates) any() bool { return len(c.matched)+len(c.open) > 0 }

// events returns the changes of the versions that some rule may match. The
// differences of a version are computed only when its type and the filters in
// memory leave a candidate.
func (m *matcher) events(ctx context.Context, idx *index, c *chunk) ([]*event, error) {
	w := m.w
	audits := map[int64]*audit{}
	for _, a := range c.audits {
		audits[a.id] = a
	}
	var err error
	if m.related, err = memfilter.Load(ctx, w.db, w.loader, idx.relations, c.versions); err != nil {
		return nil, err
	}
	var versions []change.Version
	var found []candidates
	var count [memfilter.True + 1]int
	for i := range c.versions {
		v := &c.versions[i]
		if some := candidatesOf(idx, memfilter.Input{Version: v, Related: m.related}, audits[v.Audit].generation, &count); some.any() {
			versions, found = append(versions, *v), append(found, some)
		}
	}
	w.metrics.decided.WithLabelValues("memory").Add(float64(count[memfilter.True] + count[memfilter.False]))
	steps, err := w.loader.Steps(ctx, w.db, versions)
	if err != nil {
		return nil, err
	}
	var events []*event
	for i := range steps {
		changes, err := w.differ.Diff(&steps[i])
		if err != nil {
			return nil, err
		}
		other := func(r *rule) bool { return !r.isFor(changes) }
		some := candidates{matched: slices.DeleteFunc(found[i].matched, other), open: slices.DeleteFunc(found[i].open, other)}
		if len(changes) > 0 && some.any() {
			events = append(events, &event{step: steps[i], changes: changes, audit: audits[steps[i].Now.Audit], rules: some.matched, open: some.open})
		}
	}
	return events, nil
}

// candidatesOf lists the rules that a version of a write of the given generation
// may match. The results of filters in memory are added to count.
func candidatesOf(idx *index, in memfilter.Input, generation int64, count *[memfilter.True + 1]int) (c candidates) {
	for _, r := range idx.of(in.Version) {
		if generation < r.target.since {
			continue
		}
		if r.filterKey == "" {
			c.matched = append(c.matched, r)
			continue
		}
		got := memfilter.Unknown
		if r.memory != nil {
			if in.Actor = nil; !r.hasContext {
				in.Actor = &auth.System
			}
			got = r.memory.Evaluate(in)
			count[got]++
		}
		switch {
		case got == memfilter.False:
		case got == memfilter.True && !r.hasContext:
			c.matched = append(c.matched, r)
		default:
			c.open = append(c.open, r)
		}
	}
	return c
}

// predicate is a filter or a selection that several rules share, and the events
// it is evaluated on.
type predicate struct {
	rule   *rule // one of them
	events []*event
}

// predicates groups events by a key of their rules.
func predicates(events []*event, rules func(*event) []*rule, key func(*rule) string) map[string]*predicate {
	byKey := map[string]*predicate{}
	for _, e := range events {
		for _, r := range rules(e) {
			k := key(r)
			p := byKey[k]
			if p == nil {
				p = &predicate{rule: r}
				byKey[k] = p
			}
			if n := len(p.events); n == 0 || p.events[n-1] != e {
				p.events = append(p.events, e)
			}
		}
	}
	return byKey
}

// filter evaluates the filters and userContexts of the open rules; those that
// match join the event's rules.
func (m *matcher) filter(ctx context.Context, events []*event) error {
	matched := map[string]map[*event]bool{}
	open := func(e *event) []*rule { return e.open }
	for key, p := range predicates(events, open, func(r *rule) string { return r.filterKey }) {
		matched[key] = map[*event]bool{}
		err := m.perActor(ctx, p, func(who auth.Actor, part []*event) error {
			return m.evaluate(ctx, p.rule, who, part, matched[key])
		})
		if err != nil {
			return err
		}
	}
	for _, e := range events {
		for _, r := range e.open {
			if matched[r.filterKey][e] {
				e.rules = append(e.rules, r)
			}
		}
		e.open = nil
	}
	return nil
}

// evaluate sets the events that a rule's filter matches as an actor sees the
// data. One statement evaluates those that are Unknown in memory.
func (m *matcher) evaluate(ctx context.Context, r *rule, who auth.Actor, events []*event, matched map[*event]bool) error {
	var unknown []*event
	for _, e := range events {
		got := memfilter.Unknown
		if r.memory != nil && r.hasContext { // without a context candidatesOf has done it
			got = r.memory.Evaluate(memfilter.Input{Version: &e.step.Now, Related: m.related, Actor: &who})
		}
		if matched[e] = got == memfilter.True; got == memfilter.Unknown {
			unknown = append(unknown, e)
		}
	}
	m.w.metrics.decided.WithLabelValues("memory").Add(float64(len(events) - len(unknown)))
	m.w.metrics.decided.WithLabelValues("sql").Add(float64(len(unknown)))
	if len(unknown) == 0 {
		return nil
	}
	found, err := m.w.find.Matching(ctx, m.w.db, who, r.from, r.filter, r.with, oids(unknown))
	for i := range found {
		matched[unknown[i]] = found[i]
	}
	return err
}

// snapshots reads the rows that the rules select.
func (m *matcher) snapshots(ctx context.Context, events []*event) error {
	all := func(e *event) []*rule { return e.rules }
	for key, p := range predicates(events, all, func(r *rule) string { return r.rowKey }) {
		rows := map[*event]json.RawMessage{}
		m.rows[key] = rows
		if len(p.rule.sel) == 0 {
			for _, e := range p.events {
				rows[e] = append(e.oid().Now().Append([]byte(`{"_oid":"`)), `"}`...)
			}
			continue
		}
		err := m.perActor(ctx, p, func(who auth.Actor, part []*event) error {
			found, err := m.w.find.Snapshot(ctx, m.w.db, who, p.rule.from, p.rule.sel, oids(part))
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
