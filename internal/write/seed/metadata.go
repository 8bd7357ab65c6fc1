package seed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// metadataBelow is greater than the stored ids of all rows that describe the model, and less
// than the stored ids of other well-known assets.
const metadataBelow = -5000

// metadataStep is the distance between the ranks of rows that describe the model. The rows that
// administrators add have greater ranks.
const metadataStep = 1024

// metadataComment is the ChangeComment with which an upgrade changes rows that describe the model.
const metadataComment = "Kept in step with the model by an upgrade"

// writeMetadata updates the rows that describe the model. In a new database it inserts them at
// moment 0. Later it writes only the differences, as a normal change, and deletes the rows of
// types, attributes and operations that the model no longer has. The id of a row never changes.
// If nothing has changed, writeMetadata only reads one row.
func writeMetadata(ctx context.Context, e *asset.Engine) error {
	w := &metadataWriter{e: e, rows: e.Model().Rows()}
	if len(w.rows) == 0 {
		return nil
	}
	w.sum = sumOf(w.rows)
	if there, err := w.inStep(ctx, e.DB(), ""); there || err != nil {
		return err
	}
	begun, err := w.begin(ctx)
	if begun || err != nil {
		return err
	}
	req := asset.Request{ID: uuid.NewString(), Comment: metadataComment}
	return e.Write(ctx, auth.System, req, func(s *asset.Session) error { return w.update(ctx, s) })
}

// metadataWriter writes the rows of a model.
type metadataWriter struct {
	e    *asset.Engine
	rows []meta.Row
	sum  int64 // checksum of rows; stored in the table sequence after the rows are written
}

// sumOf returns a checksum of rows, to find out whether they have changed.
func sumOf(rows []meta.Row) int64 {
	h := sha256.New()
	for _, r := range rows {
		fmt.Fprintf(h, "%s\n", r.Key())
		for _, v := range r.Values {
			fmt.Fprintf(h, "%s %d %d %s %v\n", v.Attr.Name, v.Attr.Place.Kind, v.Attr.Place.Slot, v.Attr.Place.Column, v.Value)
		}
	}
	return int64(binary.BigEndian.Uint64(h.Sum(nil)[:8]) >> 1)
}

// inStep reports whether the stored rows match the model. It compares only their checksums. lock
// is the end of the SQL statement: empty or Dialect.ForUpdate.
func (w *metadataWriter) inStep(ctx context.Context, q db.Querier, lock string) (bool, error) {
	var sum int64
	err := q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = 'metadata'`+lock).Scan(&sum)
	return sum == w.sum, err
}

// done stores the checksum of the rows after they are written.
func (w *metadataWriter) done(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE sequence SET value = ? WHERE name = 'metadata'`, w.sum)
	return err
}

// begin inserts all rows at moment 0 if the database has none. It returns true if the stored
// rows match the model after that, and false if the database has other rows.
func (w *metadataWriter) begin(ctx context.Context) (begun bool, err error) {
	d := w.e.DB()
	err = d.Write(ctx, func(tx *db.Tx) error {
		there, err := w.inStep(ctx, tx, d.Dialect.ForUpdate)
		if begun = there; there || err != nil {
			return err
		}
		ids, err := w.ids(ctx, tx)
		if err != nil || len(ids) > 0 {
			return err
		}
		begun = true
		if err := w.e.Begin(ctx, tx, nil, w.wanted(map[string]asset.Raw{}, metadataBelow, metadataStep)); err != nil {
			return err
		}
		return w.done(ctx, tx)
	})
	return begun, err
}

// ids returns the ids of the stored rows, including deleted ones.
func (w *metadataWriter) ids(ctx context.Context, q db.Querier) ([]int64, error) {
	var codes []int
	for _, t := range w.e.Model().Types {
		if t.Metadata {
			codes = append(codes, t.Code)
		}
	}
	in, args := db.InArgs(codes)
	return db.Column[int64](ctx, q, `SELECT id FROM asset WHERE id < 0 AND type IN `+in, args...)
}

// wanted returns all rows of the model. If stored contains the key of a row, the row gets the id
// and the rank of the stored row. All other rows are new. They get consecutive ids just below
// lowest, the lowest id in use. If the first row is new, the parameter order is its rank.
func (w *metadataWriter) wanted(stored map[string]asset.Raw, lowest, order int64) []asset.Raw {
	next := lowest
	for i := range w.rows {
		if _, there := stored[w.rows[i].Key()]; !there {
			next--
		}
	}
	all := make([]asset.Raw, len(w.rows))
	types := map[string]int64{} // key: name of a type; value: id of its row
	for i, r := range w.rows {
		all[i] = asset.Raw{ID: next, Type: r.Type}
		if old, there := stored[r.Key()]; there {
			all[i].ID = old.ID
		} else {
			next++
		}
		if r.Of == "" {
			types[r.Name] = all[i].ID
		}
	}
	for i, r := range w.rows {
		rank := any(order + int64(i)*metadataStep)
		if old, there := stored[r.Key()]; there {
			rank = old.Get("Order")
		}
		all[i].Values = valuesOf(r, types, rank)
	}
	return all
}

// valuesOf returns the values of a row as they are stored. types maps the name of each type to
// the id of its row. rank is the value of Order, or nil if the row gets none.
func valuesOf(r meta.Row, types map[string]int64, rank any) []meta.RowValue {
	all := make([]meta.RowValue, 0, len(r.Values)+1)
	for _, v := range r.Values {
		if v.Attr.Kind == meta.Relation { // the value is the name of a type
			v.Value = types[v.Value.(string)]
		}
		all = append(all, v)
	}
	if a, ok := r.Type.Attr("Order"); ok && rank != nil {
		all = append(all, meta.RowValue{Attr: a, Value: rank})
	}
	return all
}

// update writes the differences between the stored rows and the model.
func (w *metadataWriter) update(ctx context.Context, s *asset.Session) error {
	if there, err := w.inStep(ctx, s.Tx(), w.e.DB().Dialect.ForUpdate); there || err != nil {
		return err
	}
	ids, err := w.ids(ctx, s.Tx())
	if err != nil {
		return err
	}
	if err := s.Replace(ctx, ids, w.replacement); err != nil {
		return err
	}
	return w.done(ctx, s.Tx())
}

// replacement returns the rows of the model. It also returns the stored rows that the model no
// longer has, and marks them as deleted.
func (w *metadataWriter) replacement(stored []asset.Raw) []asset.Raw {
	byKey, lowest, order := known(stored)
	all := w.wanted(byKey, lowest, order)
	for _, r := range w.rows {
		delete(byKey, r.Key())
	}
	for _, r := range byKey {
		r.Deleted = true
		all = append(all, r)
	}
	return all
}

// known returns the stored rows by their keys, the lowest of their ids, and a rank greater than all
// their ranks.
func known(stored []asset.Raw) (byKey map[string]asset.Raw, lowest, order int64) {
	names := map[int64]string{}
	for _, r := range stored {
		names[r.ID], _ = r.Get("Name").(string)
	}
	byKey, lowest = map[string]asset.Raw{}, metadataBelow
	for _, r := range stored {
		key := meta.Row{Type: r.Type, Name: names[r.ID]}
		if of, ok := r.Get("Asset").(int64); ok {
			key.Of = names[of]
		}
		byKey[key.Key()] = r
		lowest = min(lowest, r.ID)
		n, _ := r.Get("Order").(int64)
		order = max(order, n)
	}
	return byKey, lowest, order + metadataStep
}
