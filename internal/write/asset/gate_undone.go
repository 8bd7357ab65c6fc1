package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// checkUndone checks the rights for what an Undo command has changed in the row of its target. For
// the links that it has changed, see checkEdges.
func (g *gate) checkUndone(ctx context.Context, w *row) error {
	if w.before == nil {
		return nil
	}
	if was, now := w.before.code, w.cur.code; was != now {
		verb, name := meta.ToOperate, operationTo(w.typ, now)
		if was == meta.StateDeleted || now == meta.StateDeleted {
			verb, name = meta.ToDelete, ""
		}
		if err := g.require(ctx, w, verb, name); err != nil {
			return err
		}
	}
	changes := false
	for _, a := range g.undoneAttrs(w) {
		if !w.typ.RightDiffers(a.Name) {
			changes = true
		} else if err := g.require(ctx, w, meta.ToChange, a.Name); err != nil {
			return err
		}
	}
	if changes {
		return g.require(ctx, w, meta.ToChange, "")
	}
	if len(g.changes.edges) > g.changes.start.edges {
		return g.require(ctx, w, meta.ToRelate, "")
	}
	return nil
}

// undoneAttrs returns the attributes of w that the current command has changed and that w itself
// stores.
func (g *gate) undoneAttrs(w *row) (all []*meta.Attr) {
	tr := g.s.e.layout.types[w.typ]
	for _, a := range tr.restored {
		if w.before.Get(a) != w.cur.Get(a) {
			all = append(all, a)
		}
	}
	for _, ch := range g.changes.edges[g.changes.start.edges:] {
		if ch.edge.from != w.id {
			continue
		}
		i := slices.IndexFunc(w.typ.Attrs, func(a *meta.Attr) bool {
			return (a.Place.Kind == meta.InLinks || a.Place.Kind == meta.InValues) && edgeCode(a) == ch.edge.code
		})
		if i >= 0 && !slices.Contains(all, w.typ.Attrs[i]) {
			all = append(all, w.typ.Attrs[i])
		}
	}
	return all
}

// operationTo returns the name of an operation that leads to a state, or an empty text.
func operationTo(t *meta.Type, state int) string {
	for _, op := range t.Ops {
		if op.Effect.To == state && op.Effect.Code == "" {
			return op.Name
		}
	}
	return ""
}
