package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// copier creates assets from other assets.
type copier struct {
	unit
	set *setter
}

// notCopied are writable attributes that a copy does not get, because they belong to the
// original alone.
var notCopied = [...]string{
	"Order", "ActualResults", "ChangeSets", "CompletedInBuildRuns", "FoundInBuildRuns", "DuplicateOf", "IdentifiedIn",
}

// notCopiedByType contains an attribute that copies of one type do not get. The key is the type,
// and the value is the attribute. The copy of a test has no status, because the copy has not been
// run.
var notCopiedByType = map[string]string{"Test": "Status"}

// newRow adds an asset that an operation creates, with a new id.
func (c *copier) newRow(ctx context.Context, typ string) (*row, error) {
	t, ok := c.s.e.model.Type(typ)
	if !ok {
		return nil, UnknownType(typ)
	}
	id, err := c.s.e.ids.Next(ctx, c.s.e.db, c.s.tx, 1)
	if err != nil {
		return nil, err
	}
	return c.changes.newRow(t, id), nil
}

// copiedCodes returns the codes of those links and values of a type that a copy may get.
func copiedCodes(t *meta.Type) (codes []int) {
	for _, a := range t.Attrs {
		if (a.Place.Kind == meta.InLinks || a.Place.Kind == meta.InValues) && !a.ReadOnly {
			codes = append(codes, edgeCode(a))
		}
	}
	return codes
}

// foresee reads the edges of several assets together, before they are copied one by one.
func (c *copier) foresee(ctx context.Context, sources []*row) error {
	ids := map[*meta.Type][]int64{}
	for _, src := range sources {
		ids[src.typ] = append(ids[src.typ], src.id)
	}
	for t, sourceIDs := range ids {
		for _, code := range copiedCodes(t) {
			if err := c.loaded.loadEdges(ctx, code, t.Code, sourceIDs); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyAs creates an asset of a type from src. The new asset first gets values from the function
// prepare, which may be nil. It then gets the attributes of src that the function choose selects, and
// last the defaults.
func (c *copier) copyAs(
	ctx context.Context, typ string, src *row, choose func(string) bool, prepare func(made *row) error,
) (*row, error) {
	if err := c.proceed(ctx); err != nil {
		return nil, err
	}
	made, err := c.newRow(ctx, typ)
	if err != nil {
		return nil, err
	}
	if prepare != nil {
		if err := prepare(made); err != nil {
			return nil, err
		}
	}
	if err := c.copyAttributes(ctx, made, src, choose); err != nil {
		return nil, err
	}
	return made, c.set.completeNew(ctx, made)
}

// moveChildren moves tasks and tests from one asset to another. The function choose selects them.
func (c *copier) moveChildren(ctx context.Context, from, to *row, choose func(*row) bool) error {
	children, err := c.loaded.childrenOf(ctx, from)
	if err != nil {
		return err
	}
	for _, child := range children {
		if !choose(child) {
			continue
		}
		if err := c.proceed(ctx); err != nil {
			return err
		}
		c.changes.touch(child)
		if err := c.set.pointTo(ctx, child, "Parent", to); err != nil {
			return err
		}
	}
	return nil
}

func everyAttribute(string) bool { return true }

// only selects the named attributes, and except selects all others.
func only(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func except(names ...string) func(string) bool {
	return func(name string) bool { return !slices.Contains(names, name) }
}

// copyAttributes copies the attributes that src and w have in common. Two attributes match if they
// have the same name and kind, and if either both or none of them are multi-value. A relation is
// copied only to assets that are not deleted and have a matching type. Relations that other assets
// store are not copied.
func (c *copier) copyAttributes(ctx context.Context, w, src *row, choose func(string) bool) error {
	for _, a := range w.typ.Attrs {
		from, ok := src.typ.Attr(a.Name)
		if !ok || a.ReadOnly || from.Kind != a.Kind || from.Multi != a.Multi || !isStored(a) || !isStored(from) ||
			!choose(a.Name) || slices.Contains(notCopied[:], a.Name) || notCopiedByType[w.typ.Name] == a.Name {
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
		edges, err := c.loaded.edgesFrom(ctx, src.typ, src.id, from.Place.Code)
		if err != nil {
			return err
		}
		for _, e := range edges.current(from.Place.Code) {
			if err := c.proceed(ctx); err != nil {
				return err
			}
			if err := c.copyRef(ctx, w, a, e.to); err != nil {
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

// copyRef sets the relation a of w to the asset with an id. If the relation is to-many, copyRef
// adds the asset. It does nothing if the asset is missing or deleted, or if the relation does not
// allow its type.
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
	edges, err := c.loaded.edgesFrom(ctx, src.typ, src.id, edgeCode(from))
	if err != nil {
		return err
	}
	for _, e := range edges.current(edgeCode(from)) {
		c.changes.addEdge(c.loaded.edgeSets[w.id], edge{code: edgeCode(a), from: w.id, text: e.text}, w)
	}
	return nil
}
