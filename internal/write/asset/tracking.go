package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// checkTracking returns an error if a command writes to-do, detail estimate or effort where the
// settings do not allow these values. The settings allow them on the story or defect itself, on
// its tasks and tests, or on both. A command may always clear these values. An import may set
// them everywhere, and operations may copy them everywhere.
// Errors: fault.Invalid. Spec: interface 4.16.2.
func (r *rules) checkTracking(ctx context.Context, w *row, c *Command) error {
	if r.s.req.Import || !r.s.e.bindsTracking() {
		return nil
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		a, ok := w.typ.Attr(ch.Name)
		if !ok || !writesEffort(w, a, ch) {
			continue
		}
		ok, err := r.tracks(ctx, w)
		if err == nil && !ok {
			err = readOnly(a)
		}
		return err // the result is the same for all changes of a command
	}
	return nil
}

// bindsTracking reports whether the settings restrict where effort is written.
func (e *Engine) bindsTracking() bool {
	free := func(l catalog.Level) bool { return l == catalog.Mix || l == "" }
	return !free(e.Tracking.Story) || !free(e.Tracking.Defect)
}

// writesEffort reports whether a change has set to-do, detail estimate or effort to a new value.
// Effort consists of assets of type Actual.
func writesEffort(w *row, a *meta.Attr, ch *Change) bool {
	switch {
	case a.Name == "ToDo" || a.Name == "DetailEstimate" || w.typ.Name == actual && a.Name == "Value":
		now := w.get(a)
		return now != nil && (w.creating() || w.before == nil || now != w.before.Slots[a.Place.Slot])
	case w.typ.Name == actual && a.Name == "Workitem":
		return true
	case a.Multi && a.Back != nil && a.Back.Name == "Workitem" && a.Related != nil && a.Related.Name == actual:
		return len(ch.Add) > 0 || len(ch.Set) > 0 && !ch.isNothing() || ch.Find != nil
	}
	return false
}

const actual = "Actual"

// isPart reports whether assets of a type are tasks or tests.
func isPart(t *meta.Type) bool { return t.Name == "Task" || t.Name == "Test" }

// collectTracked adds the ids of the workitems whose effort a change writes.
func (p *prefetch) collectTracked(t *meta.Type, a *meta.Attr, ch *Change, id int64, existing bool) {
	switch {
	case t.Name == actual && a.Name == "Workitem":
		ch.each(func(v Value) {
			if id, ok := p.s.valueID(v); ok {
				p.tracked = append(p.tracked, id)
			}
		})
	case existing && isPart(t):
		p.tracked = append(p.tracked, id)
	}
}

// loadTracked reads the parents of tasks and tests whose effort the batch writes.
func (p *prefetch) loadTracked(ctx context.Context, l *loaded) error {
	var unread, parents []int64
	slot := 0
	for _, id := range p.tracked {
		t, ok := l.cached(id)
		if !ok || !isPart(t.typ) {
			continue
		}
		a, ok := t.typ.Attr("Parent")
		if !ok {
			continue
		}
		if slot = a.Place.Slot; t.row != nil {
			parents = append(parents, t.row.cur.refOr(slot))
		} else {
			unread = append(unread, id)
		}
	}
	for in, args := range db.InChunks(unread) {
		query := `SELECT id, ` + l.s.e.layout.Slots[slot].Name + ` FROM asset WHERE id IN ` + in
		err := db.Each(ctx, l.s.tx, query, args, func(scan db.Scanner) error {
			var id int64
			var up *int64
			if err := scan.Scan(&id, &up); err != nil || up == nil {
				return err
			}
			l.parents[parentKey{id, slot}] = *up
			parents = append(parents, *up)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the parents of tasks: %w", err)
		}
	}
	return l.loadReferences(ctx, l.unknown(parents))
}

// tracks reports whether the settings allow effort on w, or on its workitem if w is an Actual.
func (r *rules) tracks(ctx context.Context, w *row) (bool, error) {
	item := w.target()
	if w.typ.Name == actual {
		a, ok := w.typ.Attr("Workitem")
		if !ok {
			return true, nil
		}
		id, err := r.loaded.pointsTo(ctx, w, a)
		if err == nil {
			item, ok, err = r.loaded.find(ctx, id)
		}
		if err != nil || !ok {
			return err == nil, err
		}
	}
	if level := r.levelOf(item.typ); level != "" {
		return level != catalog.Off, nil
	}
	if !isPart(item.typ) {
		return true, nil
	}
	up, ok := item.typ.Attr("Parent")
	if !ok {
		return true, nil
	}
	id, err := r.loaded.parentOf(ctx, item.id, up.Place.Slot)
	if err == nil {
		item, ok, err = r.loaded.find(ctx, id)
	}
	if err != nil || !ok {
		return err == nil, err
	}
	return r.levelOf(item.typ) != catalog.On, nil
}

// levelOf returns the setting for stories or for defects. It is empty for other types.
func (r *rules) levelOf(t *meta.Type) catalog.Level {
	switch t.Name {
	case "Story":
		return r.s.e.Tracking.Story
	case "Defect":
		return r.s.e.Tracking.Defect
	}
	return ""
}
