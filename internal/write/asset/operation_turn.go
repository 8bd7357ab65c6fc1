package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// breakDown turns a story into an epic, which takes its place; the story stays as
// the model's effect leaves it.
func (o *operations) breakDown(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	// An epic has no use for the attributes left out.
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

// epicToStory restores the story that was turned into an epic, and deletes the
// epic. The model's filter refuses an epic that has something below it. An epic that
// the caller does not see stays, as if there were none.
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

// generateSub makes a story or an epic below an epic, with its name. A story has
// nothing below it: what it generates gets the epic above the story.
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
	return o.copier.copyAs(ctx, t.Name, w, only(names...), func(sub *row) error { return o.set.pointTo(ctx, sub, "Super", w) })
}

// convertToDefect makes a defect of a story, with its tasks and tests; the
// model's effect deletes the story.
func (o *operations) convertToDefect(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	defect, err := o.copier.copyAs(ctx, "Defect", w, everyAttribute, nil)
	if err != nil {
		return nil, err
	}
	return defect, o.copier.moveChildren(ctx, w, defect, func(*row) bool { return true })
}

// convertToTeam makes a team with the name of a project.
func (o *operations) convertToTeam(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	return o.copier.copyAs(ctx, "Team", w, only("Name", "Description"), nil)
}
