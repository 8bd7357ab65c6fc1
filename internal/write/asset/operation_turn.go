package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// breakDown creates an epic from a story and sets MorphedInto of the story to the epic. The story
// stays, in the state Effect.To.
func (o *operations) breakDown(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	// Epics do not use the excluded attributes.
	epic, err := o.copier.copyAs(ctx, "Epic", w, except("Timebox", "ToDo", "DetailEstimate"), func(epic *row) error {
		from, has := w.typ.Attr("Estimate")
		if to, ok := epic.typ.Attr("Swag"); ok && has {
			epic.set(to, w.get(from))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return epic, o.set.pointTo(ctx, w, "MorphedInto", epic)
}

// lockEpic locks the epic that a story has become, before the condition of EpicToStory is
// checked. A request that puts an asset below the epic also locks the epic (layout.follows).
func (o *operations) lockEpic(ctx context.Context, w *row) error {
	into, ok := w.typ.Attr("MorphedInto")
	if !ok {
		return unknownAttr(w.typ, "MorphedInto")
	}
	id, err := o.loaded.pointsTo(ctx, w, into)
	if err == nil && id != noID {
		_, _, err = o.loaded.lock(ctx, id)
	}
	return err
}

// epicToStory deletes the epic that was created from a story. Effect.To restores the story, and
// Effect.When refuses an epic that has assets below it. If the caller may not see the epic, only
// the story changes.
func (o *operations) epicToStory(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	into, ok := w.typ.Attr("MorphedInto")
	if !ok {
		return nil, unknownAttr(w.typ, "MorphedInto")
	}
	id, err := o.loaded.pointsTo(ctx, w, into)
	if err != nil {
		return nil, err
	}
	if was, ok := w.typ.Attr("WasAnEpic"); ok {
		w.set(was, true)
	}
	if id == noID {
		return nil, nil
	}
	epic, ok, err := o.loaded.lock(ctx, id)
	if err == nil && ok {
		ok, err = o.rules.visible(ctx, epic.target())
	}
	if err != nil || !ok {
		return nil, err
	}
	o.changes.touch(epic)
	epic.setState(meta.StateDeleted)
	return nil, o.set.setRef(ctx, w, into, nil)
}

// generateSub creates a story or an epic below an epic, and copies the name and a few other
// attributes. If w is a story, the new asset goes below the epic of w instead, because nothing
// can be below a story.
func (o *operations) generateSub(ctx context.Context, w *row, op *meta.Op, _ []Change) (*row, error) {
	t, ok := o.s.e.model.Type(op.Effect.Result)
	if !ok {
		return nil, UnknownType(op.Effect.Result)
	}
	names := []string{"Name", "Scope", "Parent", "Team"}
	super, ok := t.Attr("Super")
	if !ok || !super.Takes(w.typ) {
		return o.copier.copyAs(ctx, t.Name, w, only(append(names, "Super")...), nil)
	}
	return o.copier.copyAs(ctx, t.Name, w, only(names...), func(sub *row) error {
		return o.set.pointTo(ctx, sub, "Super", w)
	})
}

// convertToDefect creates a defect from a story and moves the tasks and tests of the story to the
// defect. Effect.To deletes the story.
func (o *operations) convertToDefect(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	defect, err := o.copier.copyAs(ctx, "Defect", w, everyAttribute, nil)
	if err != nil {
		return nil, err
	}
	return defect, o.copier.moveChildren(ctx, w, defect, func(*row) bool { return true })
}

// convertToTeam creates a team with the name and the description of a project.
func (o *operations) convertToTeam(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	return o.copier.copyAs(ctx, "Team", w, only("Name", "Description"), nil)
}
