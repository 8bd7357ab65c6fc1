package asset

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// scheduleSlot is the next place in a schedule.
type scheduleSlot struct {
	name       string
	begin, end time.Time // UTC, days
}

// setFromSchedule gives a new timebox one of what comes next in its schedule; nothing
// when it has none. A timebox that says one of its days says both.
func (m *contextFill) setFromSchedule(ctx context.Context, a *meta.Attr, from origin) error {
	if from != scheduleName && (isSet(m.c, "BeginDate") || isSet(m.c, "EndDate")) {
		return nil
	}
	if m.slot == nil {
		var err error
		if m.slot, err = m.nextInSchedule(ctx); err != nil {
			return err
		}
	}
	switch {
	case m.slot.name == "":
		return nil
	case from == scheduleName:
		return m.storeScalar(m.w, a, m.slot.name)
	case from == scheduleBegin:
		return m.storeScalar(m.w, a, m.slot.begin.UnixMicro())
	}
	return m.storeScalar(m.w, a, m.slot.end.UnixMicro())
}

// nextInSchedule is what comes next in the schedule of the new timebox: it begins
// when the last one has ended and the gap is over. Without a schedule it has no
// name.
func (m *contextFill) nextInSchedule(ctx context.Context) (*scheduleSlot, error) {
	a, ok := m.w.typ.Attr("Schedule")
	if !ok {
		return &scheduleSlot{}, nil
	}
	id, err := m.pointsTo(ctx, m.w, a)
	if err != nil || id == noID {
		return &scheduleSlot{}, err
	}
	schedule, ok, err := m.lock(ctx, id)
	if err != nil || !ok {
		return &scheduleSlot{}, err
	}
	n, last, err := m.countTimeboxes(ctx, a, id)
	if err != nil {
		return nil, err
	}
	next := &scheduleSlot{begin: startOfToday()}
	if n > 0 {
		next.begin = addDuration(time.UnixMicro(last).UTC(), schedule, "TimeboxGap")
	}
	next.end = addDuration(next.begin, schedule, "TimeboxLength")
	at, _ := schedule.typ.Attr("Name")
	called, _ := schedule.get(at).(string)
	next.name = called + " " + strconv.Itoa(n+1)
	return next, nil
}

// countTimeboxes counts those of a schedule that are there, as the run has left them
// so far, and tells when the last one ends.
func (m *contextFill) countTimeboxes(ctx context.Context, schedule *meta.Attr, id int64) (n int, last int64, err error) {
	end, ok := m.w.typ.Attr("EndDate")
	if !ok {
		return 0, 0, nil
	}
	ids, err := m.linkedTo(ctx, end.On.Name, schedule.Name, id)
	if err != nil {
		return 0, 0, err
	}
	ids = slices.DeleteFunc(m.changes.withCommitted(ids, schedule.Place.Code, id), func(timebox int64) bool {
		w := m.rows[timebox]
		if w != nil && w.cur.code < stateDeleted {
			at, _ := w.get(end).(int64)
			n, last = n+1, max(last, at)
		}
		return w != nil
	})
	for len(ids) > 0 {
		size := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:size])
		ids = ids[size:]
		var some int
		var at *int64
		err := m.s.tx.QueryRow(ctx, `SELECT COUNT(*), MAX(`+end.Place.Column+`) FROM asset WHERE state < 255 AND id IN `+in, args...).Scan(&some, &at)
		if err != nil {
			return 0, 0, err
		}
		if n += some; at != nil {
			last = max(last, *at)
		}
	}
	return n, last, nil
}

// withCommitted applies what earlier commands of the batch did to the ids that
// the database says are linked to an asset.
func (c *changes) withCommitted(ids []int64, relation int, to int64) []int64 {
	for _, ch := range c.edges[:c.start.edges] {
		switch e := ch.edge; {
		case e.code != relation || e.to != to:
		case ch.set == nil && e.stored:
			ids = slices.DeleteFunc(ids, func(id int64) bool { return id == e.from })
		case ch.set != nil && !e.ended:
			ids = append(ids, e.from)
		}
	}
	return ids
}

// addDuration adds a duration that a schedule holds, such as "2 Weeks".
func addDuration(t time.Time, schedule *row, name string) time.Time {
	a, ok := schedule.typ.Attr(name)
	if !ok {
		return t
	}
	text, _ := schedule.get(a).(string)
	count, unit, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(count)
	if err != nil || n > 1000 {
		return t
	}
	switch unit {
	case "Weeks":
		return t.AddDate(0, 0, 7*n)
	case "Months":
		return t.AddDate(0, n, 0)
	}
	return t.AddDate(0, 0, n)
}

// setFutureState gives a new asset the value of the attribute that its AssetState goes
// by, for an asset whose time is still to come.
func (m *contextFill) setFutureState(ctx context.Context, a *meta.Attr) error {
	for id, code := range m.e.layout.types[m.w.typ].states {
		if code == 0 {
			return m.setTo(ctx, a, id)
		}
	}
	return nil
}
