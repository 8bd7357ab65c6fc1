package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// notCopied are the writable attributes that belong to one asset alone: a copy
// starts without them.
var notCopied = [...]string{
	"Order", "ActualResults", "ChangeSets", "CompletedInBuildRuns", "FoundInBuildRuns", "DuplicateOf", "IdentifiedIn",
}

// notCopiedByType are attributes that copies of one type start without: a test that
// is copied has not been run.
var notCopiedByType = map[string]string{"Test": "Status"}

// copyWhole makes a copy of an asset with its tasks and tests.
func (r *run) copyWhole(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	made, err := r.copyRow(ctx, w)
	if err != nil {
		return nil, err
	}
	below, err := r.childrenOf(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, child := range below {
		if _, err := r.copyChild(ctx, child, made); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// copyShallow makes a copy of an asset without what hangs on it.
func (r *run) copyShallow(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	return r.copyRow(ctx, w)
}

// split makes a copy that takes over the tasks and tests still open.
func (r *run) split(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	made, err := r.copyRow(ctx, w)
	if err != nil {
		return nil, err
	}
	if a, ok := made.typ.Attr("SplitFrom"); ok {
		if err := r.setRefToRow(ctx, made, a, w); err != nil {
			return nil, err
		}
	}
	open := func(c *row) bool { return c.cur.code < stateClosed }
	return made, r.moveChildren(ctx, w, made, open)
}

// moveChildren moves those of an asset's tasks and tests that are meant to another.
func (r *run) moveChildren(ctx context.Context, from, to *row, meant func(*row) bool) error {
	below, err := r.childrenOf(ctx, from)
	if err != nil {
		return err
	}
	for _, child := range below {
		if !meant(child) {
			continue
		}
		r.changes.touch(child)
		if err := r.setParent(ctx, child, to); err != nil {
			return err
		}
	}
	return nil
}

// setParent makes one asset the Parent of another.
func (r *run) setParent(ctx context.Context, child, parent *row) error {
	up, ok := child.typ.Attr("Parent")
	if !ok {
		return unknownAttr(child.typ, "Parent")
	}
	return r.setRefToRow(ctx, child, up, parent)
}

// setRefToRow points a to-one relation to a row of this run.
func (r *run) setRefToRow(ctx context.Context, w *row, a *meta.Attr, to *row) error {
	return r.setRef(ctx, w, a, &target{id: to.id, boxed: to.id, typ: to.typ, code: to.cur.code, row: to})
}

// copyRow makes an asset like another one.
func (r *run) copyRow(ctx context.Context, src *row) (*row, error) {
	made, err := r.newRowWithID(ctx, src.typ)
	if err == nil {
		err = r.copyAttributes(ctx, made, src, everything)
	}
	if err == nil {
		err = r.completeNew(ctx, made)
	}
	return made, err
}

// copyChild makes a task or test like another one, below another parent.
func (r *run) copyChild(ctx context.Context, src, parent *row) (*row, error) {
	made, err := r.newRowWithID(ctx, src.typ)
	if err == nil {
		err = r.setParent(ctx, made, parent)
	}
	if err == nil {
		err = r.copyAttributes(ctx, made, src, func(name string) bool { return name != "Parent" })
	}
	if err == nil {
		err = r.completeNew(ctx, made)
	}
	return made, err
}

// newRowWithID begins an asset that an operation makes, with an id of its own.
func (r *run) newRowWithID(ctx context.Context, t *meta.Type) (*row, error) {
	id, err := r.e.nextIDs(ctx, r.s.tx, 1)
	if err != nil {
		return nil, err
	}
	return r.changes.newRow(t, id), nil
}

// newRowOf is spawnNext for a type known by name.
func (r *run) newRowOf(ctx context.Context, typ string) (*row, error) {
	t, ok := r.e.model.Type(typ)
	if !ok {
		return nil, UnknownType(typ)
	}
	return r.newRowWithID(ctx, t)
}

// completeNew gives a new asset what the model says, and checks it.
func (r *run) completeNew(ctx context.Context, w *row) error {
	if err := r.setDefaults(ctx, w, &Command{}); err != nil {
		return err
	}
	if err := r.deriveValues(ctx, w); err != nil {
		return err
	}
	return r.checkRequired(w, r.e.layout.types[w.typ])
}

func everything(string) bool { return true }

// only returns a choice of attributes by name.
func only(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// copyAttributes gives w the values that src holds itself under the same names, where
// they fit: relations as far as they point to living assets of the right type.
// What other assets hold about src stays with src.
func (r *run) copyAttributes(ctx context.Context, w, src *row, meant func(string) bool) error {
	for _, a := range w.typ.Attrs {
		from, ok := src.typ.Attr(a.Name)
		if !ok || a.ReadOnly || from.Kind != a.Kind || from.Multi != a.Multi || !isStored(a) || !isStored(from) ||
			!meant(a.Name) || slices.Contains(notCopied[:], a.Name) || notCopiedByType[w.typ.Name] == a.Name {
			continue
		}
		if err := r.copyAttribute(ctx, w, a, src, from); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) copyAttribute(ctx context.Context, w *row, a *meta.Attr, src *row, from *meta.Attr) error {
	switch {
	case a.Place.Kind == meta.InValues:
		return r.copyValues(ctx, w, a, src, from)
	case a.Kind != meta.Relation:
		w.set(a, src.get(from))
		return nil
	case a.Multi:
		h, err := r.edgesFrom(ctx, src.typ, src.id, from.Place.Code)
		if err != nil {
			return err
		}
		for _, l := range h.current(from.Place.Code) {
			if err := r.copyRef(ctx, w, a, l.to); err != nil {
				return err
			}
		}
		return nil
	}
	id, err := r.pointsTo(ctx, src, from)
	if err != nil || id == noID {
		return err
	}
	return r.copyRef(ctx, w, a, id)
}

// copyRef sets or adds one relation, unless the asset is deleted or of
// another type.
func (r *run) copyRef(ctx context.Context, w *row, a *meta.Attr, id int64) error {
	t, ok, err := r.find(ctx, id)
	if err != nil || !ok || t.isDeleted() || !a.Takes(t.typ) {
		return err
	}
	if a.Multi {
		return r.addMember(ctx, w, a, t)
	}
	return r.setRef(ctx, w, a, &t)
}

func (r *run) copyValues(ctx context.Context, w *row, a *meta.Attr, src *row, from *meta.Attr) error {
	has, err := r.edgesFrom(ctx, src.typ, src.id, edgeCode(from))
	if err != nil {
		return err
	}
	h := r.edgeSets[w.id]
	for _, v := range has.current(edgeCode(from)) {
		r.changes.addEdge(h, edge{code: edgeCode(a), from: w.id, text: v.text}, w)
	}
	return nil
}

// childrenOf returns the tasks and tests of an asset that are not deleted,
// locked for change.
func (r *run) childrenOf(ctx context.Context, w *row) ([]*row, error) {
	if err := r.loadDependents(ctx, []int64{w.id}); err != nil {
		return nil, err
	}
	var below []*row
	for _, f := range r.dependents[w.id] {
		up, ok := f.typ.Attr("Parent")
		if !ok || r.rows[f.id] != f || f.cur.code == stateDeleted || slices.Contains(below, f) {
			continue
		}
		at, err := r.pointsTo(ctx, f, up)
		if err != nil {
			return nil, err
		}
		if at == w.id {
			below = append(below, f)
		}
	}
	return below, nil
}
