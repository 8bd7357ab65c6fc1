package asset

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/write/purge"
)

// deleteWithData marks the data of a definition for removal. Effect.To deletes the definition
// itself. Package purge removes the data after the commit, when no attribute or list of the model
// refers to the data. The argument Assets must be the number of assets that have a value, or the
// number of values of the list. So no caller deletes more than expected.
func (o *operations) deleteWithData(ctx context.Context, w *row, op *meta.Op, args []Change) (*row, error) {
	if !o.s.who.Admin { // checked before anything is counted
		return nil, denied(w.typ, meta.ToOperate, op.Name)
	}
	count, what := o.countValues, "%s: %d assets have a value"
	if w.typ.Name == listDefinition {
		count, what = o.countListed, "%s: the list has %d values"
		if err := o.checkUnused(ctx, w); err != nil {
			return nil, err
		}
	}
	n, err := count(ctx, w)
	if err != nil {
		return nil, err
	}

	confirmed, ok := argument(args, "Assets")
	a := &meta.Attr{Name: "Assets", On: w.typ}
	if !ok || confirmed.isEmpty() {
		return nil, fault.Invalidf(fault.NoPlace, "Violation'Required'"+what, a.Token(), n)
	}
	if known, err := strconv.ParseInt(confirmed.Text, 10, 64); err != nil || known != n {
		return nil, fault.Invalidf(args[0].At, "Violation'Invalid'"+what, a.Token(), n)
	}

	if deleted, ok := w.typ.Attr("IsDataDeleted"); ok {
		w.set(deleted, true)
	}
	return nil, purge.Add(ctx, o.s.tx, w.id)
}

// countValues returns the number of assets, including deleted ones, that have a value of the
// attribute of a definition. The number does not change before the transaction ends.
func (o *operations) countValues(ctx context.Context, w *row) (n int64, err error) {
	if err := o.holdModel(ctx); err != nil {
		return 0, err
	}
	a, ok := o.s.e.model.DefinedBy(w.id)
	if !ok { // this request has created the definition
		return 0, nil
	}
	return purge.Count(ctx, o.s.tx, o.s.e.model, a)
}

// countListed returns the number of values of a list, including deleted ones. The number does
// not change before the transaction ends.
func (o *operations) countListed(ctx context.Context, w *row) (n int64, err error) {
	if err := o.holdModel(ctx); err != nil {
		return 0, err
	}
	list, ok := o.s.e.model.ListDefinedBy(w.id)
	if !ok { // this request has created the definition
		return 0, nil
	}
	err = o.s.tx.QueryRow(ctx, `SELECT COUNT(*) FROM asset WHERE type = ?`, list.Code).Scan(&n)
	return n, err
}

// holdModel makes all other writes wait until the transaction ends. A waiting write then
// finds that the model has changed.
func (o *operations) holdModel(ctx context.Context) error {
	return catalog.LockWrites(ctx, o.s.tx)
}

// checkUnused returns an error if an attribute refers to a list or belongs to it. The values
// of that attribute would be deleted with the list, and the caller has not confirmed their
// number.
// Errors: fault.Invalid, with the name of that attribute.
func (o *operations) checkUnused(ctx context.Context, w *row) error {
	custom, err := catalog.Read(ctx, o.s.tx, o.s.e.model)
	if err != nil {
		return err
	}
	name, _ := w.typ.Attr("Name")
	list, _ := w.get(name).(string)
	for _, a := range custom.Attributes {
		how := "leads to"
		if a.Type == list {
			how = "belongs to"
		}
		if (a.To == list || a.Type == list) && !a.Purging && !a.Purged {
			return fault.Invalidf(fault.NoPlace, "Violation'Invalid'%s.Name: %s.%s %s the list; delete it with its data first",
				w.typ.Name, a.Type, a.Name, how)
		}
	}
	return nil
}
