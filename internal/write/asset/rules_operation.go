package asset

import (
	"context"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
)

// runsInState reports whether an operation may run on an asset in a state. An operation without
// a list of states runs in every state except deleted.
func runsInState(op *meta.Op, code int) bool {
	if len(op.Effect.From) == 0 {
		return code != meta.StateDeleted
	}
	return slices.Contains(op.Effect.From, code)
}

// checkOperation returns an error if an operation may not run on an asset in its current state.
// It checks the allowed states, the protected assets, the relations that must have a target, and
// the filter of the operation. The validator of the operation in the model is computed from the
// same data. An operation that would change nothing is allowed (meta.Op.Repeats).
func (r *rules) checkOperation(ctx context.Context, w *row, op *meta.Op) error {
	if !runsInState(op, w.cur.code) && !op.Repeats(w.cur.code) || op.Retires() && w.typ.IsProtected(w.id) {
		return notNow(w.typ.Name, op.Name)
	}
	for _, a := range op.Needs {
		id, err := r.loaded.pointsTo(ctx, w, a)
		if err != nil {
			return err
		}
		t, ok, err := r.loaded.find(ctx, id)
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

// matches reports whether an asset in the database matches a filter. The command does not share
// its batch (see runsAlone), so all earlier changes are in the database.
func (r *rules) matches(ctx context.Context, w *row, filter string) (bool, error) {
	found, err := r.s.e.finder.IDs(ctx, r.s.tx, auth.System, query.Request{
		From:   query.Text{Text: w.oid().String()},
		Filter: []query.Text{{Text: filter}, {Text: "IsDeleted='true','false'"}},
	})
	return len(found) > 0, err
}

// alreadyApplied reports whether an operation has already run on an asset in this request
// because it ran on the owner of the asset.
func (r *rules) alreadyApplied(w *row, op *meta.Op) bool {
	return w.cur.partOp == op.Name && !runsInState(op, w.cur.code)
}

// appliesToPart reports whether an operation on w also runs on a part of w.
func (r *rules) appliesToPart(w, part *row, op *meta.Op) bool {
	if !runsInState(op, part.cur.code) {
		return false
	}
	return !op.Effect.Back || r.loaded.deletions[part.id].deletedWith(r.loaded.deletions[w.id])
}

// checkArgs returns an error for an argument that the operation does not have, and for an
// argument that is not one scalar value.
func checkArgs(t *meta.Type, op *meta.Op, args []Change) error {
	for i := range args {
		a := &args[i]
		known := slices.ContainsFunc(op.Effect.Args, func(name string) bool { return strings.EqualFold(name, a.Name) })
		switch {
		case !known:
			return unknownArgument(t.Name, op.Name, a.Name)
		case a.Bad != nil || len(a.Set) != 1:
			return invalid(&meta.Attr{Name: a.Name, On: t, Declared: t})
		}
	}
	return nil
}
