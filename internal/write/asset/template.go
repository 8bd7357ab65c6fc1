package asset

import (
	"context"
	"errors"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// Given is the value that a new asset gets for one attribute from its context or from the model.
type Given struct {
	Attr  *meta.Attr
	Value any       // for a scalar: string, int64, float64 or bool; dates are UTC microseconds
	OIDs  []oid.OID // for a relation: the Oids of its targets
}

// Template returns the values that a new asset of a type would get in a context, in the order of
// the attributes in the model. It does not create the asset. context may be zero.
// Errors: fault.Invalid.
func (e *Engine) Template(ctx context.Context, who auth.Actor, t *meta.Type, context Ref) ([]Given, error) {
	if !IsCreatable(t) {
		return nil, AbstractType(t.Name)
	}
	var all []Given
	err := e.db.Write(ctx, func(tx *db.Tx) error {
		s := &Session{e: e, tx: tx, who: who, aliases: map[string]*Handle{}}
		x := s.newExecutor()
		c := &Command{Verb: Create, Type: t, Context: context}
		s.specify(c)
		w := x.changes.newRow(c.Type, noID)
		from, err := x.resolver.resolveContext(ctx, c)
		if err != nil {
			return err
		}
		if from.typ != nil {
			if err := x.set.fillFromContext(ctx, w, c, from); err != nil {
				return err
			}
		}
		if err := x.set.setDefaults(ctx, w, c); err != nil {
			return err
		}
		if all, err = x.contextValues(ctx, w); err != nil {
			return err
		}
		return ErrRollback
	})
	if errors.Is(err, ErrRollback) {
		err = nil
	}
	return all, err
}

// contextValues returns the values of a new asset that the caller may see and set.
func (x *executor) contextValues(ctx context.Context, w *row) ([]Given, error) {
	var all []Given
	for _, a := range w.typ.Attrs {
		if a.ReadOnly || !isStored(a) && a.Place.Kind != meta.InLinksBack {
			continue
		}
		g := Given{Attr: a}
		if a.Kind != meta.Relation {
			if g.Value = w.get(a); g.Value != nil && g.Value != "" && a.Kind != meta.Rank {
				all = append(all, g)
			}
			continue
		}
		ids, err := x.set.relatedIDs(ctx, w, a)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			t, ok, err := x.loaded.find(ctx, id)
			if err == nil && ok {
				ok, err = x.rules.visible(ctx, t)
			}
			if err != nil {
				return nil, err
			}
			if ok {
				g.OIDs = append(g.OIDs, oid.OID{Type: t.typ.Name, ID: t.typ.Shown(t.id)})
			}
		}
		if len(g.OIDs) > 0 {
			all = append(all, g)
		}
	}
	return all, nil
}
