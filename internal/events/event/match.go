package event

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Matcher matches the changes of one chunk. Each chunk of changes needs a new Matcher.
type Matcher struct {
	index   *Index
	actors  Actors
	decided func(by string, n int) // called with the number of evaluated filters; the argument by is "memory" or "sql"
	related memfilter.Related
	rows    map[string]map[*Event]json.RawMessage // snapshot rows by Rule.rowKey
	size    int64                                 // total size of rows in bytes

	// MaxSize is the maximum size of all snapshots together, in bytes; 0: no limit.
	MaxSize int64
	// Bare makes Snapshots read nothing. Each row of a snapshot then contains only the Oid.
	Bare bool
}

// NewMatcher returns a matcher for the rules of x. It calls decided with the number of filters that
// it has evaluated. The argument by is "memory" or "sql".
func (x *Index) NewMatcher(actors Actors, decided func(by string, n int)) *Matcher {
	return &Matcher{index: x, actors: actors, decided: decided, rows: map[string]map[*Event]json.RawMessage{}}
}

// Match returns an event for each version that at least one rule matches, in the order of the
// versions. Event.Rules has the matching rules. audits contains the write of each version, by id.
func (m *Matcher) Match(ctx context.Context, audits map[int64]*Audit, versions []change.Version) ([]*Event, error) {
	events, err := m.events(ctx, audits, versions)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	if err := m.filter(ctx, events); err != nil {
		return nil, err
	}
	if err := m.look(ctx, events); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(events, func(e *Event) bool { return len(e.Rules) == 0 }), nil
}

// candidates are the rules that may match a version.
type candidates struct {
	matched []*Rule // rules whose filter matches, or that have no filter
	open    []*Rule // rules whose filter or userContext was not evaluated yet
	gone    []*Rule // rules whose member may have seen the asset before the change, but not after it
}

func (c *candidates) any() bool { return len(c.matched)+len(c.open)+len(c.gone) > 0 }

// events returns an event for each version that a rule may match. It computes the differences of a
// version only if there are candidates for the version.
func (m *Matcher) events(ctx context.Context, audits map[int64]*Audit, all []change.Version) ([]*Event, error) {
	x := m.index
	var err error
	if m.related, err = memfilter.Load(ctx, x.db, x.Loader, x.relations, all); err != nil {
		return nil, err
	}
	var versions []change.Version
	var found []candidates
	var count [memfilter.True + 1]int
	for i := range all {
		v := &all[i]
		if some := x.candidatesOf(memfilter.Input{Version: v, Related: m.related}, audits[v.Audit].Generation, &count); some.any() {
			versions, found = append(versions, *v), append(found, some)
		}
	}
	m.decided("memory", count[memfilter.True]+count[memfilter.False])
	steps, err := x.Loader.Steps(ctx, x.db, versions)
	if err != nil {
		return nil, err
	}
	var events []*Event
	for i := range steps {
		changes, err := x.Differ.Diff(&steps[i])
		if err != nil {
			return nil, err
		}
		other := func(r *Rule) bool { return !r.isFor(changes) }
		some := candidates{matched: slices.DeleteFunc(found[i].matched, other), open: slices.DeleteFunc(found[i].open, other)}
		if x.mayLeave(&steps[i]) {
			some.gone = slices.DeleteFunc(found[i].gone, other)
		}
		if len(changes) > 0 && some.any() {
			events = append(events, &Event{
				Step: steps[i], Changes: changes, Audit: audits[steps[i].Now.Audit], Rules: some.matched, open: some.open, gone: some.gone,
			})
		}
	}
	return events, nil
}

// candidatesOf returns the rules that may match a version. It checks the type, and the filters that
// can be evaluated in memory. generation is the generation of subscriptions at the write of the
// version. candidatesOf counts the results of the filters in count.
func (x *Index) candidatesOf(in memfilter.Input, generation int64, count *[memfilter.True + 1]int) (c candidates) {
	for _, r := range x.of(in.Version) {
		if generation < r.Target.Since {
			continue
		}
		if r.filterKey == "" {
			c.matched = append(c.matched, r)
			continue
		}
		if r.hasContext && in.Version.Created != in.Version.Moment {
			c.gone = append(c.gone, r)
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

// predicate is a filter or a selection that several rules share. It has the events for which it
// must be evaluated.
type predicate struct {
	rule   *Rule // any rule with this filter or selection
	events []*Event
}

// predicates groups events by a key of their rules. If the rules of an event have several keys, the
// event is in the group of each key.
func predicates(events []*Event, rules func(*Event) []*Rule, key func(*Rule) string) map[string]*predicate {
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

// filter evaluates the filters and userContexts of the open rules. It adds the rules that match to
// the rules of the event.
func (m *Matcher) filter(ctx context.Context, events []*Event) error {
	matched := map[string]map[*Event]bool{}
	open := func(e *Event) []*Rule { return e.open }
	for key, p := range predicates(events, open, func(r *Rule) string { return r.filterKey }) {
		matched[key] = map[*Event]bool{}
		err := m.perActor(ctx, p, func(who auth.Actor, part []*Event) error {
			return m.evaluate(ctx, p.rule, who, part, matched[key])
		})
		if err != nil {
			return err
		}
	}
	for _, e := range events {
		for _, r := range e.open {
			if matched[r.filterKey][e] {
				e.Rules = append(e.Rules, r)
			}
		}
		e.open = nil
		e.gone = slices.DeleteFunc(e.gone, func(r *Rule) bool { return slices.Contains(e.Rules, r) })
	}
	return nil
}

// evaluate sets the value of each event in the map matched. The value is true if the filter of the
// rule matches the data that the actor sees. For all events with the result Unknown in memory, one
// SQL statement decides.
func (m *Matcher) evaluate(ctx context.Context, r *Rule, who auth.Actor, events []*Event, matched map[*Event]bool) error {
	var unknown []*Event
	for _, e := range events {
		got := memfilter.Unknown
		if r.memory != nil && r.hasContext { // candidatesOf has evaluated this filter only without the rights of the actor
			got = r.memory.Evaluate(memfilter.Input{Version: &e.Step.Now, Related: m.related, Actor: &who})
		}
		if matched[e] = got == memfilter.True; got == memfilter.Unknown {
			unknown = append(unknown, e)
		}
	}
	m.decided("memory", len(events)-len(unknown))
	m.decided("sql", len(unknown))
	if len(unknown) == 0 {
		return nil
	}
	found, err := m.index.Find.Matching(ctx, m.index.db, who, r.from, r.filter, r.with, oids(unknown))
	for i := range found {
		matched[unknown[i]] = found[i]
	}
	return err
}

// Snapshots reads the snapshot rows that the rules of the events select. Snapshots reads no row for
// a rule whose member saw the asset only before the change. It returns change.ErrTooLarge if the
// rows are larger than MaxSize bytes, or an error of the memory.Hold in ctx.
func (m *Matcher) Snapshots(ctx context.Context, events []*Event) error {
	all := func(e *Event) []*Rule {
		if len(e.gone) == 0 {
			return e.Rules
		}
		return slices.DeleteFunc(slices.Clone(e.Rules), func(r *Rule) bool { return slices.Contains(e.gone, r) })
	}
	for key, p := range predicates(events, all, func(r *Rule) string { return r.rowKey }) {
		rows := map[*Event]json.RawMessage{}
		m.rows[key] = rows
		if len(p.rule.sel) == 0 || m.Bare {
			for _, e := range p.events {
				rows[e] = append(e.OID().Now().Append([]byte(`{"_oid":"`)), `"}`...)
			}
			continue
		}
		err := m.perActor(ctx, p, func(who auth.Actor, part []*Event) error {
			found, err := m.index.Find.Snapshot(ctx, m.index.db, who, p.rule.from, p.rule.sel, oids(part))
			for i := range found {
				rows[part[i]] = found[i]
				m.size += int64(len(found[i]))
			}
			if err == nil && m.MaxSize > 0 && m.size > m.MaxSize {
				err = change.ErrTooLarge
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func oids(events []*Event) []oid.OID {
	at := make([]oid.OID, len(events))
	for i, e := range events {
		at[i] = e.OID()
	}
	return at
}
