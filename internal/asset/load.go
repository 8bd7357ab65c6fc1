package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// reference is what a run knows of an asset that it only refers to.
type reference struct {
	id     int64
	boxed  any // id, boxed once: a scope goes into thousands of rows
	typ    *meta.Type
	code   int
	hidden bool  // it lies in a deleted project
	copied []any // the followed slots, in the order of layout.followed
	locked bool  // locked against change for the rest of the transaction
}

// target is an asset that a value, a context or a command names.
type target struct {
	id        int64
	boxed     any
	typ       *meta.Type
	code      int
	row       *row       // loaded for change or made in this run
	reference *reference // otherwise
}

// isDeleted reports whether nothing may refer to the asset: it is deleted, or a
// project that it lies in.
func (t target) isDeleted() bool {
	return t.code == stateDeleted || t.row != nil && t.row.hidden || t.reference != nil && t.reference.hidden
}

// slot reads a followed slot of the asset.
func (t target) slot(l *layout, slot int) any {
	if t.row != nil {
		return t.row.cur.slots[slot]
	}
	return t.reference.copied[slices.Index(l.copiedSlots, slot)]
}

// each reads a result set to its end and closes it.
func each(rows *db.Rows, one func() error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := one(); err != nil {
			return db.Fault(err)
		}
	}
	return db.Fault(rows.Err())
}

// storedID reads an Oid token to a stored id.
func storedID(m *meta.Model, token string) (int64, bool) {
	o, err := oid.Parse(token)
	if err != nil || o.IsNull() {
		return 0, false
	}
	t, ok := m.Type(o.Type)
	if !ok {
		return 0, false
	}
	return t.Stored(o.ID), true
}

// find returns the asset stored as id, ok false when there is none.
func (r *run) find(ctx context.Context, id int64) (target, bool, error) {
	if t, ok := r.cached(id); ok {
		return t, true, nil
	}
	if r.missing[id] {
		return target{}, false, nil
	}
	if err := r.loadReferences(ctx, []int64{id}, ""); err != nil {
		return target{}, false, err
	}
	t, ok := r.cached(id)
	return t, ok, nil
}

func (r *run) cached(id int64) (target, bool) {
	if w := r.rows[id]; w != nil {
		return target{id: id, boxed: id, typ: w.typ, code: w.cur.code, row: w}, true
	}
	if l := r.references[id]; l != nil {
		return target{id: id, boxed: l.boxed, typ: l.typ, code: l.code, reference: l}, true
	}
	return target{}, false
}

// loadReferences reads what a run must know of assets it refers to. lock is empty,
// or the dialect's share lock for assets that others copy from: they must not
// move meanwhile.
func (r *run) loadReferences(ctx context.Context, ids []int64, lock string) error {
	l := r.e.layout
	columns := `id, type, state, ` + isHidden(r.s.Who())
	for _, slot := range l.copiedSlots {
		columns += ", " + l.slots[slot].Name
	}
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		for _, id := range ids[:n] {
			r.missing[id] = true
		}
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		rows, err := r.s.tx.Query(ctx, `SELECT `+columns+` FROM asset WHERE id IN `+in+` ORDER BY id`+lock, args...)
		if err != nil {
			return fmt.Errorf("load references: %w", err)
		}
		if err := each(rows, func() error { return r.scanReference(rows, lock != "") }); err != nil {
			return fmt.Errorf("load references: %w", err)
		}
	}
	return nil
}

func (r *run) scanReference(rows *db.Rows, held bool) error {
	a := &reference{locked: held, copied: make([]any, len(r.e.layout.copiedSlots))}
	var typ int
	into := []any{&a.id, &typ, &a.code, &a.hidden}
	for i := range a.copied {
		into = append(into, &a.copied[i])
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	for i, slot := range r.e.layout.copiedSlots {
		a.copied[i] = column(r.e.layout.slots[slot].Kind, a.copied[i])
	}
	t, ok := r.e.model.TypeByCode(typ)
	if !ok {
		return fmt.Errorf("asset %d has the unknown type %d", a.id, typ)
	}
	a.typ, a.boxed = t, a.id
	r.references[a.id] = a
	delete(r.missing, a.id)
	return nil
}

// lock loads one asset for change, if it has not been yet.
func (r *run) lock(ctx context.Context, id int64) (*row, bool, error) {
	if w := r.rows[id]; w != nil {
		return w, true, nil
	}
	if err := r.loadRows(ctx, []int64{id}); err != nil {
		return nil, false, err
	}
	w := r.rows[id]
	return w, w != nil, nil
}

// loadRows locks assets in id order and loads them whole.
func (r *run) loadRows(ctx context.Context, ids []int64) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	columns := names(r.e.layout.columns, "") + ", " + isHidden(r.s.Who())
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		rows, err := r.s.tx.Query(ctx, `SELECT `+columns+` FROM asset WHERE id IN `+in+` ORDER BY id`+r.e.db.Dialect.ForUpdate, args...)
		if err != nil {
			return fmt.Errorf("lock assets: %w", err)
		}
		err = each(rows, func() error {
			w, err := r.scanRow(rows)
			if err == nil && r.rows[w.id] == nil {
				r.rows[w.id] = w
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("lock assets: %w", err)
		}
	}
	return nil
}

// scanRow reads an asset with all its columns.
func (r *run) scanRow(rows *db.Rows) (*row, error) {
	l := r.e.layout
	w, st := &row{}, &state{until: forever}
	st.slots = make([]any, len(l.slots))
	var typ int
	var attrs any
	into := make([]any, 0, len(l.columns))
	into = append(into, &w.id, &typ, &st.code, &st.moment, &st.audit, &st.createdMoment, &st.createdAt, &st.createdBy, &st.changedAt, &st.changedBy)
	for i := range st.slots {
		into = append(into, &st.slots[i])
	}
	into = append(into, &attrs, &w.hidden)
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	for i := range st.slots {
		st.slots[i] = column(l.slots[i].Kind, st.slots[i])
	}
	var err error
	if st.attrs, err = parseAttrs(textOf(attrs)); err != nil {
		return nil, fmt.Errorf("asset %d: %w", w.id, err)
	}
	t, ok := r.e.model.TypeByCode(typ)
	if !ok {
		return nil, fmt.Errorf("asset %d has the unknown type %d", w.id, typ)
	}
	st.partOp = r.s.partOps[w.id]
	w.typ, w.cur, w.stored = t, st, st
	return w, nil
}

func textOf(v any) string {
	switch x := v.(type) {
	case []byte:
		return string(x)
	case string:
		return x
	}
	return ""
}

// column gives a scanned value the Go type that slots hold.
func column(kind meta.ColumnKind, v any) any {
	switch x := v.(type) {
	case []byte:
		if kind == meta.Str || kind == meta.Long {
			return string(x)
		}
		if kind == meta.Number {
			return storedNumber(meta.Numeric, string(x))
		}
		return storedNumber(meta.LongInt, string(x))
	case int64:
		if kind == meta.Number {
			return float64(x)
		}
	}
	return v
}
