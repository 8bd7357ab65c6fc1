package asset

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// scheduleSlot contains the name and the dates for the next timebox in a schedule.
type scheduleSlot struct {
	name       string    // empty: no schedule
	begin, end time.Time // UTC, without a time of day
}

// startOfToday returns the start of the current day in UTC.
func startOfToday() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }

// nextInSchedule returns the next slot in the schedule of a new timebox. The slot begins
// TimeboxGap after the end of the last timebox. The first slot begins today. If the new timebox
// has no schedule, the name of the slot is empty.
func nextInSchedule(ctx context.Context, c *changes, w *row) (*scheduleSlot, error) {
	a, ok := w.typ.Attr("Schedule")
	if !ok {
		return &scheduleSlot{}, nil
	}
	id, err := c.loaded.pointsTo(ctx, w, a)
	if err != nil || id == noID {
		return &scheduleSlot{}, err
	}
	schedule, ok, err := c.loaded.lock(ctx, id)
	if err != nil || !ok {
		return &scheduleSlot{}, err
	}
	n, last, err := countTimeboxes(ctx, c, w.typ, a, id)
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

// countTimeboxes returns the number of timeboxes of a schedule, and the last of their end dates
// in UTC microseconds. It includes the changes of the batch so far, and omits deleted timeboxes.
func countTimeboxes(
	ctx context.Context, c *changes, t *meta.Type, schedule *meta.Attr, id int64,
) (n int, last int64, err error) {
	end, ok := t.Attr("EndDate")
	if !ok {
		return 0, 0, nil
	}
	ids, err := c.loaded.linkedTo(ctx, end.On.Name, schedule.Name, id)
	if err != nil {
		return 0, 0, err
	}
	ids = slices.DeleteFunc(c.withCommitted(ids, schedule.Place.Code, id), func(timebox int64) bool {
		w := c.loaded.rows[timebox]
		if w != nil && w.cur.code < meta.StateDeleted {
			at, _ := w.get(end).(int64)
			n, last = n+1, max(last, at)
		}
		return w != nil
	})
	for in, args := range db.InChunks(ids) {
		var some int
		var at *int64
		query := `SELECT COUNT(*), MAX(` + end.Place.Column + `) FROM asset WHERE state < 255 AND id IN ` + in
		err := c.s.tx.QueryRow(ctx, query, args...).Scan(&some, &at)
		if err != nil {
			return 0, 0, err
		}
		if n += some; at != nil {
			last = max(last, *at)
		}
	}
	return n, last, nil
}

// addDuration adds the duration in an attribute of a schedule, such as "2 Weeks". It adds
// nothing if the duration cannot be parsed or is longer than 1000 units.
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
