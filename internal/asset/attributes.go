package asset

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/meta"
)

// applyChanges carries out the changes of a command in order.
func (set *setter) applyChanges(ctx context.Context, w *row, all []Change) error {
	for i := range all {
		ch := &all[i]
		a, ok := w.typ.Attr(ch.Name)
		if !ok {
			return unknownAttr(w.typ, ch.Name)
		}
		switch {
		case ch.Bad == ErrForm: //nolint:errorlint // the very value
			return invalid(a)
		case ch.Bad != nil:
			return ch.Bad
		}
		was := w.get(a)
		if err := set.applyChange(ctx, w, a, ch); err != nil {
			return err
		}
		if err := set.rules.checkKept(w, a, was); err != nil {
			return err
		}
	}
	return nil
}

func (set *setter) applyChange(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	if set.rules.canImport(w, a) {
		return set.setImported(ctx, w, a, ch)
	}
	if a.ReadOnly && !storedAtOtherEnd(a) {
		return readOnly(a)
	}
	if a.Kind == meta.Rank {
		return set.ranker.setRank(ctx, w, a, ch)
	}
	if ch.Neighbour != nil {
		return invalid(a)
	}
	switch a.Place.Kind {
	case meta.InColumn, meta.InAttrs:
		if a.Kind == meta.Relation {
			return set.toOne(ctx, w, a, ch)
		}
		return set.setScalar(w, a, ch)
	case meta.InLinks:
		if a.Multi {
			return set.toMany(ctx, w, a, ch)
		}
		return set.toOne(ctx, w, a, ch)
	case meta.InLinksBack, meta.Reverse:
		return set.toMany(ctx, w, a, ch)
	case meta.InValues:
		return set.setValues(ctx, w, a, ch)
	case meta.Secret:
		return set.secret(ctx, w, a, ch)
	}
	return readOnly(a)
}

// setDefaults sets the model's defaults that the command does not set.
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

func (set *setter) setDefault(ctx context.Context, w *row, a *meta.Attr, text string) error {
	switch {
	case text == "@caller":
		t, ok, err := set.loaded.find(ctx, set.creator(w))
		if err != nil || !ok {
			return err
		}
		return set.setRef(ctx, w, a, &t)
	case text == "@now" && w.imported.createdAt != nil:
		return set.storeScalar(w, a, *w.imported.createdAt)
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

// deriveValues sets what follows from the row's own values: the AssetState of its
// status, and PersonalTo.
func (set *setter) deriveValues(ctx context.Context, w *row) error {
	tr := set.s.e.layout.types[w.typ]
	if tr.stateAttr != nil && (w.dirty || w.linked) {
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

// setPersonalTo sets Note.PersonalTo: the author of a personal note.
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

// completeNew sets the defaults of a new asset and checks it.
func (set *setter) completeNew(ctx context.Context, w *row) error {
	if err := set.setDefaults(ctx, w, &Command{}); err != nil {
		return err
	}
	if err := set.deriveValues(ctx, w); err != nil {
		return err
	}
	return set.rules.checkRequired(w, set.s.e.layout.types[w.typ])
}
