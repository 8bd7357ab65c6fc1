package feed

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/event"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// visible removes the events that the reader may not see. The reader must see the asset now, and
// must have seen it at the time of the event. From the other events, visible removes the values
// that the reader does not see. It returns the stored ids of the instigators that must be hidden,
// and the remaining events.
func (x *reader) visible(ctx context.Context, events []*event.Event) (hidden []int64, left []*event.Event, err error) {
	if x.who.All || len(events) == 0 {
		return nil, events, nil
	}
	sees, err := x.seesNow(ctx, events)
	if err != nil {
		return nil, nil, err
	}
	events = slices.DeleteFunc(events, func(e *event.Event) bool { return !sees[e.Step.Now.ID] })
	before, err := x.sawBefore(ctx, events)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range events {
		e.Changes = shown(e.Changes, e.Step.Before == nil || before[e], sees)
		e.Reconsider()
		if actor := e.Audit.Actor; !sees[actor] {
			hidden = append(hidden, actor)
		}
	}
	return hidden, slices.DeleteFunc(events, func(e *event.Event) bool { return len(e.Rules) == 0 }), nil
}

// shown returns the changes without the values that the reader does not see. If old is false, it
// also removes all previous values.
func shown(changes []change.Change, old bool, sees map[int64]bool) []change.Change {
	all := make([]change.Change, 0, len(changes))
	for _, c := range changes {
		if !old {
			c.Old = nil
		}
		if c.Attr.Kind == meta.Relation {
			c.Old, c.New = ifSeen(c.Old, sees), ifSeen(c.New, sees)
		}
		if c.Old != nil || c.New != nil {
			all = append(all, c)
		}
	}
	return all
}

func ifSeen(v any, sees map[int64]bool) any {
	if id, ok := v.(int64); ok && sees[id] {
		return v
	}
	return nil
}

// seesNow finds out which assets the reader sees now. It checks the assets of events, their
// instigators, and the assets to which their changes refer.
func (x *reader) seesNow(ctx context.Context, events []*event.Event) (map[int64]bool, error) {
	wanted := map[int64]bool{}
	for _, e := range events {
		wanted[e.Step.Now.ID], wanted[e.Audit.Actor] = false, false
		for i := range e.Changes {
			if e.Changes[i].Attr.Kind != meta.Relation {
				continue
			}
			for _, v := range []any{e.Changes[i].Old, e.Changes[i].New} {
				if id, ok := v.(int64); ok {
					wanted[id] = false
				}
			}
		}
	}
	scope := slices.IndexFunc(x.model.Columns, func(c meta.Column) bool { return c.Name == "scope_id" })
	open, types := []int64{}, map[*meta.Type]bool{}
	for in, args := range db.InChunks(slices.Sorted(maps.Keys(wanted))) {
		err := db.Each(ctx, x.tx, "SELECT id, type, state, scope_id FROM asset WHERE id IN "+in, args, func(row db.Scanner) error {
			v := change.Version{Columns: make([]any, len(x.model.Columns))}
			var code int
			var in sql.NullInt64
			if err := row.Scan(&v.ID, &code, &v.State, &in); err != nil {
				return err
			}
			t, ok := x.model.TypeByCode(code)
			if !ok {
				return nil
			}
			if v.Type = t; in.Valid && scope >= 0 {
				v.Columns[scope] = in.Int64
			}
			switch x.sees(&v) {
			case memfilter.True:
				wanted[v.ID] = true
			case memfilter.Unknown:
				open, types[t] = append(open, v.ID), true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(open) == 0 {
		return wanted, nil
	}
	seen, err := x.finder.Seen(ctx, x.tx, x.who, slices.Collect(maps.Keys(types)), open)
	maps.Copy(wanted, seen)
	return wanted, err
}

// sees reports whether the reader sees a version. The result is Unknown if this can only be decided
// with SQL.
func (x *reader) sees(v *change.Version) memfilter.Truth {
	f := x.sights[v.Type]
	if f == nil {
		return memfilter.Unknown
	}
	return f.Evaluate(memfilter.Input{Version: v, Actor: &x.who})
}

// sawBefore returns the events before which the reader could see the asset, according to an as-of
// read. If an asset was moved out of a project that the reader does not see, its event is not in
// the result.
func (x *reader) sawBefore(ctx context.Context, events []*event.Event) (map[*event.Event]bool, error) {
	saw, open := map[*event.Event]bool{}, map[*meta.Type][]*event.Event{}
	for _, e := range events {
		v := e.Step.Before
		if v == nil {
			continue
		}
		switch x.sees(v) {
		case memfilter.True:
			saw[e] = true
		case memfilter.Unknown:
			open[v.Type] = append(open[v.Type], e)
		}
	}
	for t, list := range open {
		at := make([]oid.OID, len(list))
		for i, e := range list {
			at[i] = oid.OID{Type: t.Name, ID: t.Shown(e.Step.Before.ID), Moment: e.Step.Before.Moment}
		}
		match, err := x.finder.Matching(ctx, x.tx, x.who, t.Name, nil, nil, at)
		if err != nil {
			return nil, err
		}
		for i, yes := range match {
			saw[list[i]] = yes
		}
	}
	return saw, nil
}
