package event

import (
	"context"
	"math"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// view describes which parts of an event the member in a userContext sees. It uses the rights of
// the member at the moment of the change, also for the data before the change.
type view struct {
	before, after bool   // before: the member sees the asset before the change; after: the member sees it after the change
	instigator    bool   // true: the member sees the member who made the change
	old, new      []bool // by index of the change: whether the member sees its old value, and its new value
}

// shows reports whether the member sees the old or the new value of a change. i is the index of the
// change.
func (v *view) shows(c *change.Change, i int) bool {
	return c.Old != nil && v.old[i] || c.New != nil && v.new[i]
}

// isFor reports whether a rule is for at least one change of which the member sees a value. It does
// not evaluate filters.
func (v *view) isFor(r *Rule, changes []change.Change) bool {
	for i := range changes {
		if v.shows(&changes[i], i) && (r.attributes == nil || r.attributes[changes[i].Attr.Name]) {
			return true
		}
	}
	return false
}

// as returns an event in the form for a target. If a rule of the target has no userContext, as
// returns e itself. Otherwise it returns a copy without the values that no member in the
// userContexts sees.
func (e *Event) as(t *Target) *Event {
	var all []*view
	for _, r := range e.Rules {
		switch {
		case r.Target != t:
		case !r.hasContext:
			return e
		default:
			all = append(all, e.views[r.member])
		}
	}
	seen := *e
	seen.hidesInstigator = !slices.ContainsFunc(all, func(v *view) bool { return v.instigator })
	seen.Changes = nil
	for i, c := range e.Changes {
		if !slices.ContainsFunc(all, func(v *view) bool { return v.old[i] }) {
			c.Old = nil
		}
		if !slices.ContainsFunc(all, func(v *view) bool { return v.new[i] }) {
			c.New = nil
		}
		if c.Old != nil || c.New != nil {
			seen.Changes = append(seen.Changes, c)
		}
	}
	return &seen
}

// mayLeave reports whether a change may hide an asset from a member who saw it before.
func (x *Index) mayLeave(s *change.Step) bool {
	return s.Before != nil && (!s.Now.Type.Seen.IsZero() || x.scope >= 0 && s.Before.Columns[x.scope] != s.Now.Columns[x.scope])
}

// look finds out what the members in userContexts see of events. It removes a rule if its member
// does not see any change that the rule is for. If a change hides the asset from the member of a
// rule, it adds the rule if the rule matched before the change.
func (m *Matcher) look(ctx context.Context, events []*Event) error {
	if m.index.sights == nil { // no rule has a userContext
		return nil
	}
	for _, p := range predicates(events, (*Event).inContext, func(r *Rule) string { return keyOf(r.member) }) {
		err := m.perActor(ctx, p, func(who auth.Actor, part []*Event) error {
			return m.lookAs(ctx, who, p.rule.member, part)
		})
		if err != nil {
			return err
		}
	}
	for _, e := range events {
		e.Rules = slices.DeleteFunc(e.Rules, func(r *Rule) bool {
			v := e.views[r.member]
			return r.hasContext && (v == nil || !v.isFor(r, e.Changes))
		})
		e.gone = slices.DeleteFunc(e.gone, func(r *Rule) bool {
			v := e.views[r.member]
			return v == nil || v.after || !v.before || !v.isFor(r, e.Changes)
		})
	}
	return m.leave(ctx, events)
}

// inContext returns the rules that have a userContext, and that match the event or are in e.gone.
func (e *Event) inContext() []*Rule {
	var all []*Rule
	for _, r := range slices.Concat(e.Rules, e.gone) {
		if r.hasContext {
			all = append(all, r)
		}
	}
	return all
}

// leave checks the rules in Event.gone. If the filter of a rule matched before the change, leave
// adds the rule to the matching rules. Otherwise it removes the rule from Event.gone.
func (m *Matcher) leave(ctx context.Context, events []*Event) error {
	left := func(e *Event) []*Rule { return e.gone }
	for _, p := range predicates(events, left, func(r *Rule) string { return r.filterKey }) {
		matched := map[*Event]bool{}
		err := m.perActor(ctx, p, func(who auth.Actor, part []*Event) error {
			at := make([]oid.OID, len(part))
			for i, e := range part {
				at[i] = versionOID(e.Step.Before)
			}
			found, err := m.index.Find.Matching(ctx, m.index.db, who, p.rule.from, p.rule.filter, p.rule.with, at)
			for i := range found {
				matched[part[i]] = found[i]
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, e := range p.events {
			for _, r := range e.gone {
				if r.filterKey == p.rule.filterKey && matched[e] {
					e.Rules = append(e.Rules, r)
				}
			}
		}
	}
	for _, e := range events {
		e.gone = slices.DeleteFunc(e.gone, func(r *Rule) bool { return !slices.Contains(e.Rules, r) })
	}
	return nil
}

func versionOID(v *change.Version) oid.OID {
	return oid.OID{Type: v.Type.Name, ID: v.Type.Shown(v.ID), Moment: v.Moment}
}

// sight is a version, for which it is not known yet whether an actor sees it.
type sight struct {
	v  *change.Version
	to []*bool // variables to which the result is written
}

// lookAs sets the view of one member of a userContext for each event. The parameter who is the same
// member as an actor.
func (m *Matcher) lookAs(ctx context.Context, who auth.Actor, member int64, events []*Event) error {
	others, err := m.others(ctx, who, events)
	if err != nil {
		return err
	}
	open := map[*meta.Type][]sight{}
	ask := func(v *change.Version, to ...*bool) {
		switch {
		case v == nil:
		case m.index.sees(&who, v) == memfilter.True:
			for _, b := range to {
				*b = true
			}
		case m.index.sees(&who, v) == memfilter.Unknown:
			open[v.Type] = append(open[v.Type], sight{v, to})
		}
	}
	for _, e := range events {
		v := &view{old: make([]bool, len(e.Changes)), new: make([]bool, len(e.Changes))}
		if e.views == nil {
			e.views = map[int64]*view{}
		}
		e.views[member] = v
		now := &e.Step.Now
		if v.after = slices.ContainsFunc(e.Rules, func(r *Rule) bool { return r.hasContext && r.member == member }); !v.after {
			ask(now, &v.after)
		}
		ask(e.Step.Before, &v.before)
		ask(others.at(e.Audit.Actor, now.Moment), &v.instigator)
		for i := range e.Changes {
			c := &e.Changes[i]
			if who.All || !isHideable(c.Attr) {
				v.old[i], v.new[i] = true, true
				continue
			}
			ask(others.at(c.Old, now.Moment-1), &v.old[i])
			ask(others.at(c.New, now.Moment), &v.new[i])
		}
	}
	if err := m.answer(ctx, who, open); err != nil {
		return err
	}
	for _, e := range events { // a member who does not see the asset does not see its values either
		v := e.views[member]
		v.instigator = v.instigator || who.All
		for i := range e.Changes {
			v.old[i], v.new[i] = v.old[i] && v.before, v.new[i] && v.after
		}
	}
	return nil
}

// answer finds out, with SQL, whether an actor sees the versions in the map open. It stores the
// results in sight.to.
func (m *Matcher) answer(ctx context.Context, who auth.Actor, open map[*meta.Type][]sight) error {
	for t, list := range open {
		at := make([]oid.OID, len(list))
		for i, s := range list {
			at[i] = versionOID(s.v)
		}
		seen, err := m.index.Find.Matching(ctx, m.index.db, who, t.Name, nil, nil, at)
		if err != nil {
			return err
		}
		for i, yes := range seen {
			for _, to := range list[i].to {
				*to = yes
			}
		}
	}
	return nil
}

// sees reports whether an actor sees a version. The result is Unknown if this can only be decided
// with SQL.
func (x *Index) sees(who *auth.Actor, v *change.Version) memfilter.Truth {
	f := x.sights[v.Type]
	if f == nil {
		return memfilter.Unknown
	}
	return f.Evaluate(memfilter.Input{Version: v, Actor: who})
}

// isHideable reports whether some values of an attribute may be hidden from some members.
func isHideable(a *meta.Attr) bool {
	return a.Kind == meta.Relation && query.Restricted(a.Related.Concrete)
}

// versions contains versions of the assets to which events refer, by stored id of the asset.
type versions map[int64][]change.Version

// at returns the version of an asset at a moment. It returns nil if the asset did not exist or its
// versions were not read. id is a stored id, or a value of a change.
func (all versions) at(id any, moment int64) *change.Version {
	stored, _ := id.(int64)
	of := all[stored]
	for i := range of {
		if of[i].Moment <= moment && of[i].Until > moment {
			return &of[i]
		}
	}
	return nil
}

// others reads versions of two kinds of assets: the instigators of events, and assets to which
// their changes refer and that may be hidden. It reads nothing for an actor who sees everything. It
// returns change.ErrTooLarge if there are more than maxOthers versions.
func (m *Matcher) others(ctx context.Context, who auth.Actor, events []*Event) (versions, error) {
	found := versions{}
	if who.All {
		return found, nil
	}
	var ids []int64
	first, last := events[0].Step.Now.Moment-1, events[0].Step.Now.Moment
	for _, e := range events {
		first, last = min(first, e.Step.Now.Moment-1), max(last, e.Step.Now.Moment)
		ids = append(ids, e.Audit.Actor)
		for i := range e.Changes {
			if !isHideable(e.Changes[i].Attr) {
				continue
			}
			for _, v := range []any{e.Changes[i].Old, e.Changes[i].New} {
				if id, ok := v.(int64); ok {
					ids = append(ids, id)
				}
			}
		}
	}
	room := maxOthers
	if len(events) == 1 {
		room = math.MaxInt32
	}
	slices.Sort(ids)
	for part := range slices.Chunk(slices.Compact(ids), db.MaxIn) {
		all, err := m.index.Loader.During(ctx, m.index.db, part, first, last, room)
		if err != nil {
			return nil, err
		}
		if room -= len(all); room <= 0 {
			return nil, change.ErrTooLarge
		}
		for _, v := range all {
			found[v.ID] = append(found[v.ID], v)
		}
	}
	return found, nil
}

// maxOthers is the maximum number of versions of other assets that are read for several events. For
// a single event there is no limit.
const maxOthers = 4000
