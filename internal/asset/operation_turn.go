package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/meta"
)

// notOfEpics are the attributes of a story that mean nothing on an epic.
func notOfEpics(name string) bool {
	return name != "Timebox" && name != "ToDo" && name != "DetailEstimate"
}

// breakDown turns a story into an epic, which takes its place; the story stays
// behind as the model's effect leaves it.
func (o *operations) breakDown(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	epic, err := o.copier.newRowOf(ctx, "Epic")
	if err == nil {
		err = o.copier.copyAttributes(ctx, epic, w, notOfEpics)
	}
	if err != nil {
		return nil, err
	}
	from, has := w.typ.Attr("Estimate")
	if to, ok := epic.typ.Attr("Swag"); ok && has {
		epic.set(to, w.get(from))
	}
	if err := o.set.completeNew(ctx, epic); err != nil {
		return nil, err
	}
	if a, ok := w.typ.Attr("MorphedInto"); ok {
		err = o.set.setRefToRow(ctx, w, a, epic)
	}
	return epic, err
}

// epicToStory takes a story back from the epic it was turned into, which is
// deleted. The model's filter keeps an epic that has something below it.
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
	if err != nil || !ok {
		return nil, err
	}
	o.changes.touch(epic)
	epic.setState(stateDeleted)
	return nil, o.set.setRef(ctx, w, into, nil)
}

// generateSub makes a story or an epic below an epic, called like it. A story
// has nothing below it: what it generates comes to stand beside it.
func (o *operations) generateSub(ctx context.Context, w *row, op *meta.Op, _ []Change) (*row, error) {
	sub, err := o.copier.newRowOf(ctx, op.Effect.Result)
	if err != nil {
		return nil, err
	}
	names := []string{"Name", "Scope", "Parent", "Team", "Super"}
	super, ok := sub.typ.Attr("Super")
	under := ok && super.Takes(w.typ)
	if under {
		names = names[:4]
	}
	if err := o.copier.copyAttributes(ctx, sub, w, only(names...)); err != nil {
		return nil, err
	}
	if under {
		if err := o.set.setRefToRow(ctx, sub, super, w); err != nil {
			return nil, err
		}
	}
	return sub, o.set.completeNew(ctx, sub)
}

// convertToDefect makes a defect of a story, with its tasks and tests; the
// model's effect deletes the story.
func (o *operations) convertToDefect(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	defect, err := o.copier.newRowOf(ctx, "Defect")
	if err == nil {
		err = o.copier.copyAttributes(ctx, defect, w, everything)
	}
	if err == nil {
		err = o.set.completeNew(ctx, defect)
	}
	if err == nil {
		err = o.copier.moveChildren(ctx, w, defect, func(*row) bool { return true })
	}
	return defect, err
}

// convertToTeam makes a team called like a project.
func (o *operations) convertToTeam(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	team, err := o.copier.newRowOf(ctx, "Team")
	if err == nil {
		err = o.copier.copyAttributes(ctx, team, w, only("Name", "Description"))
	}
	if err == nil {
		err = o.set.completeNew(ctx, team)
	}
	return team, err
}
