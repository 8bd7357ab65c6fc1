package asset

import (
	"context"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
)

func runsInState(op *meta.Op, code int) bool {
	if len(op.Effect.From) == 0 {
		return code != meta.StateDeleted
	}
	return slices.Contains(op.Effect.From, code)
}

// checkOperation refuses an operation that may not run on an asset now. It uses
// what the model's validator is computed from: the allowed states, fixed assets,
// what it needs, and its filter. The state that the operation leads to is allowed, too,
// where it then changes nothing.
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

// matches asks the database whether an asset satisfies a filter. The command runs
// alone, so the database is up to date.
func (r *rules) matches(ctx context.Context, w *row, filter string) (bool, error) {
	found, err := r.s.e.finder.IDs(ctx, r.s.tx, auth.System, query.Request{
		From:   query.Text{Text: w.oid().String()},
		Filter: []query.Text{{Text: filter}, {Text: "IsDeleted='true','false'"}},
	})
	return len(found) > 0, err
}

// alreadyApplied reports whether an operation has run on an asset in this request
// already, as on a part of another.
func (r *rules) alreadyApplied(w *row, op *meta.Op) bool {
	return w.cur.partOp == op.Name && !runsInState(op, w.cur.code)
}

// appliesToPart reports whether an operation on w runs on its part f, too.
func (r *rules) appliesToPart(w, part *row, op *meta.Op) bool {
	if !runsInState(op, part.cur.code) {
		return false
	}
	return !op.Effect.Back || r.loaded.deletions[part.id].deletedWith(r.loaded.deletions[w.id])
}

// checkArgs refuses arguments that the operation does not have, and values of a
// form that none takes.
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
