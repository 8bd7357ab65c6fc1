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

// metadataBelow is above the stored ids of all rows that describe the model, and
// below those of other well-known assets.
const metadataBelow = -5000

// metadataStep is the distance between the ranks of such rows, all of them below
// the rank of what administrators add.
const metadataStep = 1024

// metadataComment is the ChangeComment of a difference between two releases.
const metadataComment = "Kept in step with the model by an upgrade"

// seedMetadata keeps the rows that describe the model in step with it. Those of a
// new database are written at moment 0; what differs later is a change of its own,
// and rows of what the model no longer has are deleted. An id once given stays.
// When nothing has changed it reads one row.
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
	return New(d, m, nil, nil, nil).Write(ctx, auth.System, Request{ID: uuid.NewString(), Comment: metadataComment}, func(s *Session) error {
		return w.update(ctx, s)
	})
}

// metadataWriter writes the rows of a model.
type metadataWriter struct {
	d    *db.DB
	m    *meta.Model
	rows []meta.Row
	sum  int64 // of rows; what the row of sequence has when they are written
}

// sumOf is a number that tells two lists of rows apart.
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

// inStep reports whether the rows are those of the model.
func (w *metadataWriter) inStep(ctx context.Context, q db.Querier, lock string) (bool, error) {
	var sum int64
	err := q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = 'metadata'`+lock).Scan(&sum)
	return sum == w.sum, err
}

// done notes that the rows are written.
func (w *metadataWriter) done(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE sequence SET value = ? WHERE name = 'metadata'`, w.sum)
	return err
}

// begin writes all rows into a database that has none, at moment 0. It reports
// false when there are some.
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

// ids returns the rows that are there, deleted ones too.
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

// metadataRow is a row of the model as it is to be stored.
type metadataRow struct {
	meta.Row
	id    int64
	order int64 // rank of a new row
	refs  map[string]int64
}

// wanted gives every row an id: that of its key, else one below the lowest there
// is, so that new ones follow each other in their order.
func (w *metadataWriter) wanted(ids map[string]int64, below, order int64) []metadataRow {
	all := make([]metadataRow, len(w.rows))
	refs := map[string]int64{}
	next := below
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

// fill gives a new row its values.
func (r *metadataRow) fill(w *row) {
	for _, v := range r.Values {
		w.set(v.Attr, r.stored(v))
	}
	if a, ok := r.Type.Attr("Order"); ok {
		w.set(a, r.order)
	}
}

// stored is a value as it is kept: of a relation the id of the type's row.
func (r *metadataRow) stored(v meta.RowValue) any {
	if v.Attr.Kind != meta.Relation {
		return v.Value
	}
	return r.refs[v.Value.(string)]
}

// update writes the differences between the rows that are there and the model.
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
	keys, below, order := w.known(x.loaded.rows)
	x.changes.begin()
	for _, r := range w.wanted(keys, below, order) {
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

// known returns the ids of the rows by their keys, the lowest of them, and a rank
// above theirs.
func (w *metadataWriter) known(rows map[int64]*row) (keys map[string]int64, below, order int64) {
	names := map[int64]string{}
	for id, r := range rows {
		if a, ok := r.typ.Attr("Name"); ok {
			names[id], _ = r.get(a).(string)
		}
	}
	keys, below = map[string]int64{}, metadataBelow
	for id, r := range rows {
		key := meta.Row{Type: r.typ, Name: names[id]}
		if a, ok := r.typ.Attr("Asset"); ok {
			of, _ := r.get(a).(int64)
			key.Of = names[of]
		}
		keys[key.Key()] = id
		below = min(below, id)
		if a, ok := r.typ.Attr("Order"); ok {
			n, _ := r.get(a).(int64)
			order = max(order, n)
		}
	}
	return keys, below, order + metadataStep
}

// refill makes a row that is there say what the model says. Its rank stays.
func (r *metadataRow) refill(w *row) {
	w.setState(meta.StateActive)
	given := map[string]bool{"Order": true}
	for _, v := range r.Values {
		given[v.Attr.Name] = true
		w.set(v.Attr, r.stored(v))
	}
	for _, a := range r.Type.Attrs {
		if isStored(a) && !a.Multi && !given[a.Name] && (a.Place.Kind != meta.InColumn || a.Place.Slot >= 0) {
			w.clear(a)
		}
	}
}

// clear removes the value of an attribute.
func (w *row) clear(a *meta.Attr) {
	if a.Place.Kind == meta.InColumn {
		w.setSlot(a.Place.Slot, nil)
	} else if w.cur.attrs.set(a.Place.Column, nil) {
		w.dirty = true
	}
}
