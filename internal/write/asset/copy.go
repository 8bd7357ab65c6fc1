package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// copier makes assets from others.
type copier struct {
	unit
	set *setter
}

// notCopied are the writable attributes of one asset alone, which its copies do
// not get.
var notCopied = [...]string{
	"Order", "ActualResults", "ChangeSets", "CompletedInBuildRuns", "FoundInBuildRuns", "DuplicateOf", "IdentifiedIn",
}

// notCopiedByType are attributes that copies of one type do not get: a copied
// test has not been run.
var notCopiedByType = map[string]string{"Test": "Status"}

// newRow begins an asset that an operation makes, with an id of its own.
func (c *copier) newRow(ctx context.Context, typ string) (*row, error) {
	t, ok := c.s.e.model.Type(typ)
	if !ok {
		return nil, UnknownType(typ)
	}
	id, err := c.s.e.ids.next(ctx, c.s.e.db, c.s.tx, 1)
	if err != nil {
		return nil, err
	}
	return c.changes.newRow(t, id), nil
}

// copiedCodes are the edges of a type that its copies may get.
func copiedCodes(t *meta.Type) (codes []int) {
	for _, a := range t.Attrs {
		if (a.Place.Kind == meta.InLinks || a.Place.Kind == meta.InValues) && !a.ReadOnly {
			codes = append(codes, edgeCode(a))
		}
	}
	return codes
}

// foresee reads the edges of assets that will be copied, all at once.
func (c *copier) foresee(ctx context.Context, sources []*row) error {
	ids := map[*meta.Type][]int64{}
	for _, src := range sources {
		ids[src.typ] = append(ids[src.typ], src.id)
	}
	for t, of := range ids {
		for _, code := range copiedCodes(t) {
			if err := c.loaded.loadEdges(ctx, code, t.Code, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyAs makes an asset of a type from another: what prepare gives it, if
// anything, the attributes of src that choose chooses, and the defaults.
func (c *copier) copyAs(ctx context.Context, typ string, src *row, choose func(string) bool, prepare func(made *row) error) (*row, error) {
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

// moveChildren moves those of an asset's tasks and tests that choose chooses to
// another asset.
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

// only chooses attributes by name, except all others.
func only(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func except(names ...string) func(string) bool {
	return func(name string) bool { return !slices.Contains(names, name) }
}

// copyAttributes gives w the values of src under the same names, where they fit:
// relations as far as they point to living assets of the right type. What other
// assets store about src stays with src.
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

// copyRef sets or adds one relation, unless the asset is deleted or of another
// type.
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
