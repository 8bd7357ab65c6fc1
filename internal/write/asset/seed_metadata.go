package asset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// metadataBelow is greater than the stored ids of all rows that describe the model, and less
// than the stored ids of other well-known assets.
const metadataBelow = -5000

// metadataStep is the distance between the ranks of rows that describe the model. The rows that
// administrators add have greater ranks.
const metadataStep = 1024

// metadataComment is the ChangeComment with which an upgrade changes rows that describe the model.
const metadataComment = "Kept in step with the model by an upgrade"

// seedMetadata updates the rows that describe the model. In a new database it inserts them at
// moment 0. Later it writes only the differences, as a normal change, and deletes the rows of
// types, attributes and operations that the model no longer has. The id of a row never changes.
// If nothing has changed, seedMetadata only reads one row.
func seedMetadata(ctx context.Context, d *db.DB, m *meta.Model) error {
	w := &metadataWriter{d: d, m: m, rows: m.Rows()}
	if len(w.rows) == 0 {
		return nil
	}
	w.sum = sumOf(w.rows)
	if there, err := w.inStep(ctx, d, ""); there || err != nil {
		return err
	}
	begun, err := w.begin(ctx)
	if begun || err != nil {
		return err
	}
	req := Request{ID: uuid.NewString(), Comment: metadataComment}
	return New(d, m, nil, nil, nil).Write(ctx, auth.System, req, func(s *Session) error { return w.update(ctx, s) })
}

// metadataWriter writes the rows of a model.
type metadataWriter struct {
	d    *db.DB
	m    *meta.Model
	rows []meta.Row
	sum  int64 // checksum of rows; stored in sequence once they are written
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

// inStep reports whether the stored rows match the model, by their checksum. lock is the end of
// its statement: empty or Dialect.ForUpdate.
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
	err = w.d.Write(ctx, func(tx *db.Tx) error {
		there, err := w.inStep(ctx, tx, w.d.Dialect.ForUpdate)
		if begun = there; there || err != nil {
			return err
		}
		ids, err := w.ids(ctx, tx)
		if err != nil || len(ids) > 0 {
			return err
		}
		if begun, err = true, seedAudit(ctx, tx); err != nil {
			return err
		}
		e := &Engine{db: w.d, model: w.m, layout: newLayout(w.m, 0, w.d.Dialect)}
		x := (&Session{e: e, tx: tx, who: auth.System, aliases: map[string]*Handle{}}).newExecutor()
		wanted := w.wanted(map[string]int64{}, metadataBelow, metadataStep)
		for i := range wanted {
			row := x.changes.newRow(wanted[i].Type, wanted[i].id)
			wanted[i].fill(row)
			x.changes.made = append(x.changes.made, row)
			row.latest = &version{row: row, state: row.cur}
			x.changes.versions = append(x.changes.versions, row.latest)
		}
		if err := x.writeSeed(ctx); err != nil {
			return err
		}
		return w.done(ctx, tx)
	})
	return begun, err
}

// ids returns the ids of the stored rows, including deleted ones.
func (w *metadataWriter) ids(ctx context.Context, q db.Querier) ([]int64, error) {
	var codes []int
	for _, t := range w.m.Types {
		if t.Metadata {
			codes = append(codes, t.Code)
		}
	}
	in, args := db.InArgs(codes)
	return db.Column[int64](ctx, q, `SELECT id FROM asset WHERE id < 0 AND type IN `+in, args...)
}

// metadataRow is a row of the model with what is needed to store it.
type metadataRow struct {
	meta.Row
	id    int64            // stored id
	order int64            // rank of a new row
	refs  map[string]int64 // ids of the rows of types, by name
}

// wanted returns all rows with their ids. A row whose key is in ids has that id. The other rows
// are new. They get the consecutive ids just under lowest, which is the lowest id in use. order is
// the rank of the first row.
func (w *metadataWriter) wanted(ids map[string]int64, lowest, order int64) []metadataRow {
	all := make([]metadataRow, len(w.rows))
	refs := map[string]int64{}
	next := lowest
	for i := range w.rows {
		if _, there := ids[w.rows[i].Key()]; !there {
			next--
		}
	}
	for i, r := range w.rows {
		id, there := ids[r.Key()]
		if !there {
			id = next
			next++
		}
		all[i] = metadataRow{r, id, order + int64(i)*metadataStep, refs}
		if r.Of == "" {
			refs[r.Name] = id
		}
	}
	return all
}

// fill sets the values and the rank of a new row.
func (r *metadataRow) fill(w *row) {
	for _, v := range r.Values {
		w.set(v.Attr, r.stored(v))
	}
	if a, ok := r.Type.Attr("Order"); ok {
		w.set(a, r.order)
	}
}

// stored returns a value as it is stored. For a relation, the value is the name of a type, and the
// id of the row of that type is stored.
func (r *metadataRow) stored(v meta.RowValue) any {
	if v.Attr.Kind != meta.Relation {
		return v.Value
	}
	return r.refs[v.Value.(string)]
}

// update writes the differences between the stored rows and the model.
func (w *metadataWriter) update(ctx context.Context, s *Session) error {
	if there, err := w.inStep(ctx, s.tx, w.d.Dialect.ForUpdate); there || err != nil {
		return err
	}
	x := s.newExecutor()
	ids, err := w.ids(ctx, s.tx)
	if err != nil {
		return err
	}
	if err := x.loaded.loadRows(ctx, ids); err != nil {
		return err
	}
	keys, lowest, order := w.known(x.loaded.rows)
	x.changes.begin()
	for _, r := range w.wanted(keys, lowest, order) {
		row := x.loaded.rows[r.id]
		if delete(keys, r.Key()); row == nil {
			r.fill(x.changes.newRow(r.Type, r.id))
			continue
		}
		x.changes.touch(row)
		r.refill(row)
	}
	for _, id := range keys {
		x.changes.touch(x.loaded.rows[id])
		x.loaded.rows[id].setState(meta.StateDeleted)
	}
	x.changes.commit()
	if err := x.write(ctx); err != nil {
		return err
	}
	return w.done(ctx, s.tx)
}

// known returns the ids of the stored rows by their keys, the lowest of these ids, and a rank
// greater than all their ranks.
func (w *metadataWriter) known(rows map[int64]*row) (keys map[string]int64, lowest, order int64) {
	names := map[int64]string{}
	for id, r := range rows {
		if a, ok := r.typ.Attr("Name"); ok {
			names[id], _ = r.get(a).(string)
		}
	}
	keys, lowest = map[string]int64{}, metadataBelow
	for id, r := range rows {
		key := meta.Row{Type: r.typ, Name: names[id]}
		if a, ok := r.typ.Attr("Asset"); ok {
			of, _ := r.get(a).(int64)
			key.Of = names[of]
		}
		keys[key.Key()] = id
		lowest = min(lowest, id)
		if a, ok := r.typ.Attr("Order"); ok {
			n, _ := r.get(a).(int64)
			order = max(order, n)
		}
	}
	return keys, lowest, order + metadataStep
}

// refill sets a stored row to the values of the model and makes it active. Its rank stays.
func (r *metadataRow) refill(w *row) {
	w.setState(meta.StateActive)
	isSet := map[string]bool{"Order": true}
	for _, v := range r.Values {
		isSet[v.Attr.Name] = true
		w.set(v.Attr, r.stored(v))
	}
	for _, a := range r.Type.Attrs {
		if isStored(a) && !a.Multi && !isSet[a.Name] && (a.Place.Kind != meta.InColumn || a.Place.Slot >= 0) {
			w.clear(a)
		}
	}
}

// clear removes the value of an attribute.
func (w *row) clear(a *meta.Attr) {
	if a.Place.Kind == meta.InColumn {
		w.setSlot(a.Place.Slot, nil)
	} else if w.cur.attrs.Set(a.Place.Column, nil) {
		w.dirty = true
	}
}
