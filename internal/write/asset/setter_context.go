package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// contextFill is a new asset about to be filled from its context.
type contextFill struct {
	set  *setter
	w    *row
	c    *Command
	from target
	slot *scheduleSlot // in its schedule; nil until a row asks for it
}

// fillFromContext sets what a command does not set from the context of the new
// asset.
func (set *setter) fillFromContext(ctx context.Context, w *row, c *Command, from target) error {
	m := &contextFill{set: set, w: w, c: c, from: from}
	for i := range contextDefaults {
		s := &contextDefaults[i]
		a, ok := s.attrOn(w.typ, from.typ)
		if !ok || c.sets(a.Name) {
			continue
		}
		if s.onlyIf != "" {
			var err error
			if ok, err = m.namesContext(ctx, s.onlyIf); err != nil {
				return err
			}
		}
		if !ok {
			continue
		}
		if err := m.fill(ctx, a, s.from); err != nil {
			return err
		}
	}
	return nil
}

// fill gives the new asset one attribute.
func (m *contextFill) fill(ctx context.Context, a *meta.Attr, from origin) error {
	switch from {
	case contextItself:
		return m.setContext(ctx, a)
	case contextScope:
		return m.setTo(ctx, a, m.from.slot(m.set.s.e.layout, m.set.s.e.layout.scope))
	case sameAttribute:
		return m.copySame(ctx, a)
	case actingMember:
		return m.setTo(ctx, a, m.set.s.who.Member)
	case today:
		return m.set.storeScalar(m.w, a, startOfToday().UnixMicro())
	case futureState:
		return m.setFutureState(ctx, a)
	}
	return m.setFromSchedule(ctx, a, from)
}

// setContext points a relation of the new asset to the context, unless the
// command itself names the context in one.
func (m *contextFill) setContext(ctx context.Context, a *meta.Attr) error {
	for i := range m.c.Changes {
		if named, err := m.namesContext(ctx, m.c.Changes[i].Name); named || err != nil {
			return err
		}
	}
	if a.Multi {
		return m.set.addMember(ctx, m.w, a, m.from)
	}
	return m.set.setRef(ctx, m.w, a, &m.from)
}

// namesContext reports whether a relation of the new asset names the context.
func (m *contextFill) namesContext(ctx context.Context, name string) (bool, error) {
	a, ok := m.w.typ.Attr(name)
	if !ok || a.Kind != meta.Relation || !isStored(a) && a.Place.Kind != meta.InLinksBack {
		return false, nil
	}
	ids, err := m.set.relatedIDs(ctx, m.w, a)
	return slices.Contains(ids, m.from.id), err
}

// relatedIDs returns the ids that a relation of a new asset names.
func (set *setter) relatedIDs(ctx context.Context, w *row, a *meta.Attr) ([]int64, error) {
	var ids []int64
	switch {
	case a.Place.Kind == meta.InLinksBack:
		for _, ch := range set.changes.edges[set.changes.start.edges:] {
			if e := ch.edge; e != nil && e.code == a.Place.Code && e.to == w.id && !e.ended {
				ids = append(ids, e.from)
			}
		}
	case a.Multi:
		for _, e := range set.loaded.edgeSets[w.id].current(a.Place.Code) {
			ids = append(ids, e.to)
		}
	default:
		id, err := set.loaded.pointsTo(ctx, w, a)
		if err != nil {
			return nil, err
		}
		if id != noID {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// setTo points a relation of the new asset to the id in a slot, unless there is
// none or it is deleted; a deleted project is set, though, where the context lies
// in it.
func (m *contextFill) setTo(ctx context.Context, a *meta.Attr, boxed any) error {
	id, ok := boxed.(int64)
	if !ok {
		return nil
	}
	t, ok, err := m.set.loaded.find(ctx, id)
	if err != nil || !ok || t.isDeleted() && a.Name != "Scope" {
		return err
	}
	return m.set.setRef(ctx, m.w, a, &t)
}

// copySame copies the attribute of the same name from the context.
func (m *contextFill) copySame(ctx context.Context, a *meta.Attr) error {
	at, _ := m.from.typ.Attr(a.Name)
	switch {
	case at.Place.Kind == meta.InLinks:
		edges, err := m.set.loaded.edgesFrom(ctx, m.from.typ, m.from.id, at.Place.Code)
		if err != nil {
			return err
		}
		if e := edges.one(at.Place.Code); e != nil {
			return m.setTo(ctx, a, e.to)
		}
		return nil
	case a.Kind == meta.Relation && slices.Contains(m.set.s.e.layout.copiedSlots, at.Place.Slot):
		return m.setTo(ctx, a, m.from.slot(m.set.s.e.layout, at.Place.Slot))
	}
	src, err := m.set.loaded.read(ctx, m.from)
	if err != nil {
		return err
	}
	if a.Kind == meta.Relation {
		return m.setTo(ctx, a, src.get(at))
	}
	if v := src.get(at); v != nil && v != "" {
		return m.set.storeScalar(m.w, a, v)
	}
	return nil
}

// setFromSchedule gives a new timebox a value of the next slot of its schedule,
// unless it has none. A timebox that sets one of its days sets both.
func (m *contextFill) setFromSchedule(ctx context.Context, a *meta.Attr, from origin) error {
	if from != scheduleName && (m.c.sets("BeginDate") || m.c.sets("EndDate")) {
		return nil
	}
	if m.slot == nil {
		var err error
		if m.slot, err = nextInSchedule(ctx, m.set.changes, m.w); err != nil {
			return err
		}
	}
	switch {
	case m.slot.name == "":
		return nil
	case from == scheduleName:
		return m.set.storeScalar(m.w, a, m.slot.name)
	case from == scheduleBegin:
		return m.set.storeScalar(m.w, a, m.slot.begin.UnixMicro())
	}
	return m.set.storeScalar(m.w, a, m.slot.end.UnixMicro())
}

// setFutureState points the attribute that determines AssetState to the value of
// the state Future.
func (m *contextFill) setFutureState(ctx context.Context, a *meta.Attr) error {
	for id, code := range m.set.s.e.layout.types[m.w.typ].states {
		if code == 0 {
			return m.setTo(ctx, a, id)
		}
	}
	return nil
}
