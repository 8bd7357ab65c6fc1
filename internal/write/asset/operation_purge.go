package asset

import (
	"context"
	"fmt"
	"strconv"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// deleteWithData marks the data of a definition for removal; Effect.To deletes the definition
// itself. Purge removes the data after the commit, when no attribute or list of the model
// refers to it. The argument Assets must be the number of assets that have a value, or of the
// values of the list. So no caller deletes more than expected.
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
	_, err = o.s.tx.Exec(ctx, `INSERT INTO definition_purge (definition_id, done_id) VALUES (?, ?)`, w.id, noID)
	if err != nil {
		return nil, fmt.Errorf("store the purge: %w", err)
	}
	return nil, nil
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
	if a.Place.Kind == meta.InLinks {
		query := `SELECT COUNT(DISTINCT from_id) FROM asset_link WHERE relation = ? AND until_moment = ?`
		err = o.s.tx.QueryRow(ctx, query, a.Place.Code, db.Forever).Scan(&n)
		return n, err
	}
	in, codes := db.InArgs(typeCodes(o.s.e.model, a.On))
	query := `SELECT COUNT(*) FROM asset WHERE type IN ` + in + ` AND ` + storedExpr(o.s.e.db.Dialect, a) + ` IS NOT NULL`
	err = o.s.tx.QueryRow(ctx, query, codes...).Scan(&n)
	return n, err
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

// storedExpr returns the SQL expression of the stored value of a scalar. It is NULL if the
// asset has no value.
func storedExpr(d *db.Dialect, a *meta.Attr) string {
	if a.Place.Kind == meta.InColumn {
		return a.Place.Column
	}
	return d.JSONText("attrs", a.Place.Column)
}

// typeCodes returns the codes of t and its subtypes, except abstract types. It includes
// retired lists.
func typeCodes(m *meta.Model, t *meta.Type) []int64 {
	var codes []int64
	for _, other := range m.Types {
		if other.IsA(t) && !other.Abstract {
			codes = append(codes, int64(other.Code))
		}
	}
	return codes
}
