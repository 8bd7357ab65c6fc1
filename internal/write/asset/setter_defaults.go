package asset

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
)

// setDefaults sets empty attributes to the defaults of the model. It leaves out attributes that
// the command sets.
func (set *setter) setDefaults(ctx context.Context, w *row, c *Command) error {
	for _, a := range set.s.e.layout.types[w.typ].defaults {
		if c.sets(a.Name) || !set.rules.isEmpty(w, a) {
			continue
		}
		if err := set.setDefault(ctx, w, a, a.Default); err != nil {
			return err
		}
	}
	return nil
}

// setDefault sets an attribute to a default of the model: a value, "@caller" or "@now".
func (set *setter) setDefault(ctx context.Context, w *row, a *meta.Attr, text string) error {
	switch {
	case text == "@caller":
		t, ok, err := set.loaded.find(ctx, set.creator(w))
		if err != nil || !ok {
			return err
		}
		return set.setRef(ctx, w, a, &t)
	case text == "@now" && w.imported.createdAt != nil:
		return set.storeScalar(w, a, int64(*w.imported.createdAt))
	case text == "@now":
		return set.storeScalar(w, a, time.Now().UTC().Truncate(time.Millisecond).UnixMicro())
	case a.Kind == meta.Relation:
		t, null, err := set.resolver.resolve(ctx, a, Value{Kind: Text, Text: text})
		if err != nil || null {
			return err
		}
		return set.setRef(ctx, w, a, &t)
	}
	v, err := scalar(a, Value{Kind: Text, Text: text})
	if err != nil {
		return err
	}
	return set.storeScalar(w, a, v)
}

// deriveValues sets the values that depend on other values of the row: AssetState and PersonalTo.
// It does not change an AssetState of 200 or more, such as Broken Down or Deleted. It also checks
// that the dates of the row are in order.
func (set *setter) deriveValues(ctx context.Context, w *row) error {
	tr := set.s.e.layout.types[w.typ]
	if tr.stateAttr != nil && (w.dirty || w.links > 0) {
		relation := tr.stateAttr.Place.Code
		if edges := set.loaded.edgeSets[w.id]; edges != nil && edges.has(relation) {
			if e := edges.one(relation); e != nil && w.cur.code < 200 {
				if code, ok := tr.states[e.to]; ok {
					w.setState(code)
				}
			}
		}
	}
	if err := checkPeriod(w, tr); err != nil {
		return err
	}
	return set.setPersonalTo(ctx, w)
}

// setPersonalTo sets PersonalTo of a personal note to its author, and clears it for other notes.
func (set *setter) setPersonalTo(ctx context.Context, w *row) error {
	to, ok := w.typ.Attr("PersonalTo")
	if !ok || !w.dirty || to.Place.Kind != meta.InLinks {
		return nil
	}
	flag, _ := w.typ.Attr("Personal")
	author, ok := w.typ.Attr("Author")
	if flag == nil || !ok {
		return nil
	}
	if w.get(flag) != true {
		return set.setRef(ctx, w, to, nil)
	}
	id, err := set.loaded.pointsTo(ctx, w, author)
	if err != nil || id == noID {
		return err
	}
	t, ok, err := set.loaded.find(ctx, id)
	if err != nil || !ok {
		return err
	}
	return set.setRef(ctx, w, to, &t)
}

// completeNew sets the defaults of a new asset that an operation creates, and checks its required
// attributes. It does not check custom attributes, because the original may have no values for
// them.
func (set *setter) completeNew(ctx context.Context, w *row) error {
	if err := set.setDefaults(ctx, w, &Command{}); err != nil {
		return err
	}
	if err := set.deriveValues(ctx, w); err != nil {
		return err
	}
	return set.rules.checkRequired(w, set.s.e.layout.types[w.typ], false)
}
