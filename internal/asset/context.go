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

// contextUp are the upward relations that a new asset takes from the asset it
// is made in the context of, when the types fit.
var contextUp = [...]string{"Super", "Parent", "Schedule", "Scope"}

// Implied reports whether a new asset of type child, made in the context of an
// asset of type parent, gets its attribute called name from that context
// alone: a Task its Parent, a Story below an Epic its Super, a workitem in a
// project its Scope.
func Implied(child, parent *meta.Type, name string) bool {
	if !slices.Contains(contextUp[:], name) {
		return false
	}
	a, ok := child.Attr(name)
	if !ok || !a.ToOne() || a.ReadOnly || a.Related == nil || !a.Reaches(parent) {
		return false
	}
	if name == "Parent" {
		return a.Required // Task, Test and Scope; a Theme is not the parent of what is made near it
	}
	return true
}

// fromContext fills what a new asset does not say from the asset it is made in
// the context of.
func (r *run) fromContext(ctx context.Context, w *row, c *Command, from target) error {
	for _, name := range contextUp {
		a, ok := w.typ.Attr(name)
		if !ok || a.ReadOnly || said(c, name) {
			continue
		}
		t, ok, err := r.contextValue(ctx, w, a, from)
		if err != nil {
			return err
		}
		if ok {
			if err := r.setRef(ctx, w, a, &t); err != nil {
				return err
			}
		}
	}
	if err := r.fromRequest(ctx, w, c, from); err != nil {
		return err
	}
	return r.fromSchedule(ctx, w, c, from)
}

func said(c *Command, name string) bool {
	return slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Name == name })
}

// contextValue returns what relation a of a new asset is in a context: the
// context itself where the types fit, else the context's scope.
func (r *run) contextValue(ctx context.Context, w *row, a *meta.Attr, from target) (target, bool, error) {
	if Implied(w.typ, from.typ, a.Name) {
		return from, true, nil
	}
	if a.Name != "Scope" || a.Place.Kind != meta.InColumn {
		return target{}, false, nil
	}
	scope, ok := from.slot(r.e.layout, r.e.layout.scope).(int64)
	if !ok {
		return target{}, false, nil
	}
	return r.find(ctx, scope)
}

// copied are the attributes a backlog item takes from the request or issue it
// is made for.
var copied = [...]string{"Name", "Description", "RequestedBy"}

func (r *run) fromRequest(ctx context.Context, w *row, c *Command, from target) error {
	back := map[string]string{"Request": "Requests", "Issue": "Issues"}[from.typ.Name]
	a, ok := w.typ.Attr(back)
	if !ok || !a.ToMany() {
		return nil
	}
	src, ok, err := r.lock(ctx, from.id)
	if err != nil || !ok {
		return err
	}
	for _, name := range copied {
		to, ok := w.typ.Attr(name)
		at, has := src.typ.Attr(name)
		if ok && has && !said(c, name) {
			w.set(to, src.get(at))
		}
	}
	if said(c, back) {
		return nil
	}
	return r.putIn(ctx, w, a, from)
}

// fromSchedule suggests the next timebox of a schedule: it begins when the
// last one has ended and the gap is over, and is Future.
func (r *run) fromSchedule(ctx context.Context, w *row, c *Command, from target) error {
	tr := r.e.layout.types[w.typ]
	if from.typ.Name != "Schedule" || tr.stateAttr == nil {
		return nil
	}
	if err := r.suggest(ctx, w, c, from); err != nil || said(c, tr.stateAttr.Name) {
		return err
	}
	for id, code := range tr.states {
		if code != 0 {
			continue
		}
		t, ok, err := r.find(ctx, id)
		if err != nil || !ok {
			return err
		}
		return r.setRef(ctx, w, tr.stateAttr, &t)
	}
	return nil
}

// suggest fills the name and the days of a timebox that says none of them.
func (r *run) suggest(ctx context.Context, w *row, c *Command, from target) error {
	name, okName := w.typ.Attr("Name")
	begin, okBegin := w.typ.Attr("BeginDate")
	end, okEnd := w.typ.Attr("EndDate")
	schedule, ok, err := r.lock(ctx, from.id)
	if err != nil || !ok || !okName || !okBegin || !okEnd {
		return err
	}
	n, last, err := r.timeboxes(ctx, from.id, end)
	if err != nil {
		return err
	}
	if !said(c, "Name") {
		at, _ := schedule.typ.Attr("Name")
		called, _ := schedule.get(at).(string)
		w.set(name, called+" "+strconv.Itoa(n+1))
	}
	if said(c, "BeginDate") || said(c, "EndDate") {
		return nil
	}
	start := time.Now().UTC().Truncate(24 * time.Hour)
	if n > 0 {
		start = later(time.UnixMicro(last).UTC(), schedule, "TimeboxGap")
	}
	w.set(begin, start.UnixMicro())
	w.set(end, later(start, schedule, "TimeboxLength").UnixMicro())
	return nil
}

// timeboxes counts those of a schedule, and tells when the last one ends.
func (r *run) timeboxes(ctx context.Context, schedule int64, end *meta.Attr) (n int, last int64, err error) {
	ids, err := r.linkedTo(ctx, end.On.Name, "Schedule", schedule)
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	for len(ids) > 0 {
		size := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:size])
		ids = ids[size:]
		var some int
		var at *int64
		err := r.s.tx.QueryRow(ctx, `SELECT COUNT(*), MAX(`+end.Place.Column+`) FROM asset WHERE state < 255 AND id IN `+in, args...).Scan(&some, &at)
		if err != nil {
			return 0, 0, err
		}
		if n += some; at != nil {
			last = max(last, *at)
		}
	}
	return n, last, nil
}

// later adds a duration that a schedule holds, such as "2 Weeks".
func later(t time.Time, schedule *row, name string) time.Time {
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
