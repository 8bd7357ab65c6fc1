package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// copier makes assets from others.
type copier struct {
	s       *Session
	loaded  *loaded
	changes *changes
	set     *setter
}

// notCopied are the writable attributes that belong to one asset alone: a copy
// starts without them.
var notCopied = [...]string{
	"Order", "ActualResults", "ChangeSets", "CompletedInBuildRuns", "FoundInBuildRuns", "DuplicateOf", "IdentifiedIn",
}

// notCopiedByType are attributes that copies of one type start without: a test that
// is copied has not been run.
var notCopiedByType = map[string]string{"Test": "Status"}

// newRowWithID begins an asset that an operation makes, with an id of its own.
func (c *copier) newRowWithID(ctx context.Context, t *meta.Type) (*row, error) {
	id, err := c.s.e.nextIDs(ctx, c.s.tx, 1)
	if err != nil {
		return nil, err
	}
	return c.changes.newRow(t, id), nil
}

// newRowOf is spawnNext for a type known by name.
func (c *copier) newRowOf(ctx context.Context, typ string) (*row, error) {
	t, ok := c.s.e.model.Type(typ)
	if !ok {
		return nil, UnknownType(typ)
	}
	return c.newRowWithID(ctx, t)
}

// setParent makes one asset the Parent of another.
func (c *copier) setParent(ctx context.Context, child, parent *row) error {
	up, ok := child.typ.Attr("Parent")
	if !ok {
		return unknownAttr(child.typ, "Parent")
	}
	return c.set.setRefToRow(ctx, child, up, parent)
}

// moveChildren moves those of an asset's tasks and tests that are meant to another.
func (c *copier) moveChildren(ctx context.Context, from, to *row, meant func(*row) bool) error {
	below, err := c.loaded.childrenOf(ctx, from)
	if err != nil {
		return err
	}
	for _, child := range below {
		if !meant(child) {
			continue
		}
		c.changes.touch(child)
		if err := c.setParent(ctx, child, to); err != nil {
			return err
		}
	}
	return nil
}

// copyRow makes an asset like another one.
func (c *copier) copyRow(ctx context.Context, src *row) (*row, error) {
	made, err := c.newRowWithID(ctx, src.typ)
	if err == nil {
		err = c.copyAttributes(ctx, made, src, everything)
	}
	if err == nil {
		err = c.set.completeNew(ctx, made)
	}
	return made, err
}

// copyChild makes a task or test like another one, below another parent.
func (c *copier) copyChild(ctx context.Context, src, parent *row) (*row, error) {
	made, err := c.newRowWithID(ctx, src.typ)
	if err == nil {
		err = c.setParent(ctx, made, parent)
	}
	if err == nil {
		err = c.copyAttributes(ctx, made, src, func(name string) bool { return name != "Parent" })
	}
	if err == nil {
		err = c.set.completeNew(ctx, made)
	}
	return made, err
}

func everything(string) bool { return true }

// only returns a choice of attributes by name.
func only(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// copyAttributes gives w the values that src holds itself under the same names, where
// they fit: relations as far as they point to living assets of the right type.
// What other assets hold about src stays with src.
func (c *copier) copyAttributes(ctx context.Context, w, src *row, meant func(string) bool) error {
	for _, a := range w.typ.Attrs {
		from, ok := src.typ.Attr(a.Name)
		if !ok || a.ReadOnly || from.Kind != a.Kind || from.Multi != a.Multi || !isStored(a) || !isStored(from) ||
			!meant(a.Name) || slices.Contains(notCopied[:], a.Name) || notCopiedByType[w.typ.Name] == a.Name {
			continue
		}
		if err := c.copyAttribute(ctx, w, a, src, from); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) copyAttribute(ctx context.Context, w *row, a *meta.Attr, src *row, from *meta.Attr) error {
	switch {
	case a.Place.Kind == meta.InValues:
		return c.copyValues(ctx, w, a, src, from)
	case a.Kind != meta.Relation:
		w.set(a, src.get(from))
		return nil
	case a.Multi:
		h, err := c.loaded.edgesFrom(ctx, src.typ, src.id, from.Place.Code)
		if err != nil {
			return err
		}
		for _, l := range h.current(from.Place.Code) {
			if err := c.copyRef(ctx, w, a, l.to); err != nil {
				return err
			}
		}
		return nil
	}
	id, err := c.loaded.pointsTo(ctx, src, from)
	if err != nil || id == noID {
		return err
	}
	return c.copyRef(ctx, w, a, id)
}

// copyRef sets or adds one relation, unless the asset is deleted or of
// another type.
func (c *copier) copyRef(ctx context.Context, w *row, a *meta.Attr, id int64) error {
	t, ok, err := c.loaded.find(ctx, id)
	if err != nil || !ok || t.isDeleted() || !a.Takes(t.typ) {
		return err
	}
	if a.Multi {
		return c.set.addMember(ctx, w, a, t)
	}
	return c.set.setRef(ctx, w, a, &t)
}

func (c *copier) copyValues(ctx context.Context, w *row, a *meta.Attr, src *row, from *meta.Attr) error {
	has, err := c.loaded.edgesFrom(ctx, src.typ, src.id, edgeCode(from))
	if err != nil {
		return err
	}
	h := c.loaded.edgeSets[w.id]
	for _, v := range has.current(edgeCode(from)) {
		c.changes.addEdge(h, edge{code: edgeCode(a), from: w.id, text: v.text}, w)
	}
	return nil
}

// copyTest makes a test below a test set from a regression test.
func (c *copier) copyTest(ctx context.Context, set, src *row) error {
	test, err := c.newRowOf(ctx, "Test")
	if err == nil {
		err = c.setParent(ctx, test, set)
	}
	if err == nil {
		err = c.copyAttributes(ctx, test, src, func(name string) bool { return name != "Parent" && name != "Scope" })
	}
	if err != nil {
		return err
	}
	if a, ok := test.typ.Attr("GeneratedFrom"); ok {
		if err := c.set.setRefToRow(ctx, test, a, src); err != nil {
			return err
		}
	}
	return c.set.completeNew(ctx, test)
}
