package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// contextFill sets attributes of a new asset from its context.
type contextFill struct {
	set  *setter
	w    *row // the new asset
	c    *Command
	from target        // the context
	slot *scheduleSlot // slot for w in its schedule; nil until it is needed
}

// fillFromContext applies contextDefaults to a new asset. It skips attributes that the command
// sets.
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

// fill sets one attribute of the new asset from an origin.
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

// setContext sets a relation of the new asset to the context. It does nothing if the command
// already names the context in a relation.
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

// namesContext reports whether the relation called name refers to the context.
func (m *contextFill) namesContext(ctx context.Context, name string) (bool, error) {
	a, ok := m.w.typ.Attr(name)
	if !ok || a.Kind != meta.Relation || !isStored(a) && a.Place.Kind != meta.InLinksBack {
		return false, nil
	}
	ids, err := m.set.relatedIDs(ctx, m.w, a)
	return slices.Contains(ids, m.from.id), err
}

// relatedIDs returns the ids of the targets of a relation of a new asset.
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

// setTo sets a relation of the new asset to the asset whose stored id is in boxed. It does nothing
// if boxed contains no id or if the asset is deleted. The relation Scope is set even to a deleted
// project, because the context is in that project.
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

// copySame copies the value of the attribute with the same name from the context.
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

// setFromSchedule sets the name or a date of a new timebox from the next slot in its schedule.
// Without a schedule it does nothing. If the command sets one of the two dates, setFromSchedule
// sets neither date.
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

// setFutureState sets the attribute that determines AssetState to the value for the state Future,
// whose code is 0.
func (m *contextFill) setFutureState(ctx context.Context, a *meta.Attr) error {
	for id, code := range m.set.s.e.layout.types[m.w.typ].states {
		if code == 0 {
			return m.setTo(ctx, a, id)
		}
	}
	return nil
}
