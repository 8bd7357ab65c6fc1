package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
)

// checkOperation refuses an operation that may not run on an asset now, by the same
// words of the model that its validator is computed from: the states it starts
// from, what must stay, what it needs, and its filter.
func (r *run) checkOperation(ctx context.Context, w *row, op *meta.Op) error {
	if !runsInState(op, w.cur.code) || op.Retires() && w.typ.Keeps(w.id) {
		return notNow(w.typ.Name, op.Name)
	}
	for _, a := range op.Needs {
		id, err := r.pointsTo(ctx, w, a)
		if err != nil {
			return err
		}
		t, ok, err := r.find(ctx, id)
		if err != nil {
			return err
		}
		if !ok || t.isDeleted() {
			return notNow(w.typ.Name, op.Name)
		}
	}
	if op.Effect.When == "" {
		return nil
	}
	ok, err := r.matches(ctx, w, op.Effect.When)
	if err == nil && !ok {
		err = notNow(w.typ.Name, op.Name)
	}
	return err
}

// matches asks the database whether an asset satisfies a filter. The command
// runs alone, so the database knows.
func (r *run) matches(ctx context.Context, w *row, filter string) (bool, error) {
	found, err := r.e.finder.IDs(ctx, r.s.tx, auth.System, query.Request{
		From:   query.Text{Text: w.oid().String()},
		Filter: []query.Text{{Text: filter}, {Text: "IsDeleted='true','false'"}},
	})
	return len(found) > 0, err
}

// checkKept refuses another value of what a well-known asset must keep.
func (r *run) checkKept(w *row, a *meta.Attr, was any) error {
	if !w.typ.Keeps(w.id) || w.get(a) == was || !slices.Contains(w.typ.Keep.Attributes, a.Name) {
		return nil
	}
	return readOnly(a)
}

// restore takes a deleted asset back to the state it was deleted in, or to the
// one that goes with its attributes meanwhile.
func (r *run) restore(ctx context.Context, w *row) error {
	if err := r.loadDeletions(ctx, []int64{w.id}); err != nil {
		return err
	}
	to := stateActive
	if e := r.deletions[w.id]; e != nil {
		to = e.state
	}
	r.claimUsername(w, to)
	w.setState(to)
	tr := r.e.layout.types[w.typ]
	if tr.stateAttr == nil {
		return nil
	}
	if _, err := r.edgesFrom(ctx, w.typ, w.id, tr.stateAttr.Place.Code); err != nil {
		return err
	}
	return r.deriveValues(ctx, w)
}
