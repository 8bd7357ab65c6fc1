package activity

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// question is a version, and the place to store whether the caller sees this version.
type question struct {
	v  *change.Version
	to *bool
}

// visible sets which versions of entries the caller could read with an as-of query. An as-of query
// uses the current rights, and the project to which the asset belonged at that time.
func (x *reader) visible(ctx context.Context, all []entry) error {
	open := map[*meta.Type][]question{}
	ask := func(v *change.Version, to *bool) {
		switch x.sees(v) {
		case memfilter.True:
			*to = true
		case memfilter.Unknown:
			open[v.Type] = append(open[v.Type], question{v, to})
		}
	}
	for i := range all {
		e := &all[i]
		if e.how != far { // a far change has only a copy of the previous version in its step
			ask(&e.step.Now, &e.seen)
		}
		if e.step.Before == nil {
			e.seenBefore = true
		} else {
			ask(e.step.Before, &e.seenBefore)
		}
	}
	for t, list := range open {
		if err := x.answer(ctx, t, list); err != nil {
			return err
		}
	}
	return nil
}

// answer finds out, with SQL, whether the caller sees versions of one type. It stores the results.
func (x *reader) answer(ctx context.Context, t *meta.Type, list []question) error {
	at := make([]oid.OID, len(list))
	for i, q := range list {
		at[i] = oid.OID{Type: t.Name, ID: t.Shown(q.v.ID), Moment: q.v.Moment}
	}
	match, err := x.finder.Matching(ctx, x.tx, x.who, t.Name, nil, nil, at)
	for i, yes := range match {
		*list[i].to = yes
	}
	return err
}

// judge removes the changes that the caller does not see from an entry, and sets the verb of the
// entry. It returns false if the caller sees nothing of the entry.
func (x *reader) judge(e *entry) bool {
	o := x.assets[e.ID]
	if e.how == far {
		e.seen = e.seenBefore
	}
	if o == nil || !o.seen || !e.seen || e.audit == nil {
		return false
	}
	e.changes = slices.DeleteFunc(e.changes, func(c change.Change) bool { return !x.keeps(e, &c) })
	if e.how == far && len(e.changes) == 0 {
		return false
	}
	e.verb = x.root.verbOf(e)
	return true
}

// keeps reports whether the caller sees the old or the new value of a change.
func (x *reader) keeps(e *entry, c *change.Change) bool {
	old := c.Old
	if !e.seenBefore {
		old = nil
	}
	if c.Attr.Kind == meta.Relation {
		return x.shows(old) || x.shows(c.New)
	}
	return old != nil || c.New != nil
}

// shows reports whether a value of a relation is an asset that the caller sees.
func (x *reader) shows(v any) bool {
	id, ok := v.(int64)
	if !ok {
		return false
	}
	a := x.assets[id]
	return a != nil && a.seen
}
