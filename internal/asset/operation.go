package asset

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/meta"
)

// operations carries out what operations do to assets.
type operations struct {
	unit
	rules    *rules
	resolver *resolver
	set      *setter
	copier   *copier
}

// argument finds an argument of an operation; names ignore case.
func argument(args []Change, name string) (Value, bool) {
	for _, a := range args {
		if strings.EqualFold(a.Name, name) && len(a.Set) > 0 {
			return a.Set[0], true
		}
	}
	return Value{}, false
}

// argumentAsset resolves an argument that names an asset of a type.
func (o *operations) argumentAsset(ctx context.Context, w *row, args []Change, name, typ string) (target, error) {
	t, ok := o.s.e.model.Type(typ)
	if !ok {
		return target{}, UnknownType(typ)
	}
	a := &meta.Attr{Name: name, On: w.typ, Declared: w.typ, Kind: meta.Relation, Related: t}
	v, ok := argument(args, name)
	if !ok {
		return target{}, required(a)
	}
	found, null, err := o.resolver.resolve(ctx, a, v)
	if err == nil && null {
		err = required(a)
	}
	return found, err
}

// claimUsername sets the username of a deleted member again. Another member may
// have it meanwhile: then the operation fails.
func (o *operations) claimUsername(w *row, to int) {
	a := o.s.e.layout.types[w.typ].username
	if a == nil || w.cur.code != meta.StateDeleted || to == meta.StateDeleted {
		return
	}
	if name, _ := w.get(a).(string); name != "" {
		o.changes.setLogin(w, &name, nil)
	}
}

// restore sets a deleted asset to the state it was deleted in, or to the one that
// its attributes now determine.
func (o *operations) restore(ctx context.Context, w *row) error {
	if err := o.loaded.loadDeletions(ctx, []int64{w.id}); err != nil {
		return err
	}
	to := meta.StateActive
	if e := o.loaded.deletions[w.id]; e != nil {
		to = e.state
	}
	o.claimUsername(w, to)
	w.setState(to)
	tr := o.s.e.layout.types[w.typ]
	if tr.stateAttr == nil {
		return nil
	}
	if _, err := o.loaded.edgesFrom(ctx, w.typ, w.id, tr.stateAttr.Place.Code); err != nil {
		return err
	}
	return o.set.deriveValues(ctx, w)
}

// clearToDo sets the effort left of a workitem to zero if it has any.
func (o *operations) clearToDo(w *row) {
	if a, ok := w.typ.Attr("ToDo"); ok && w.get(a) != nil {
		w.set(a, 0.0)
	}
}
