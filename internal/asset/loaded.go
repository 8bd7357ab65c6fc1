package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// loaded is what the database said in this batch: rows, with what the batch has
// changed of them, edges, names of types, trees. It reads and locks, and knows
// nothing of commands.
type loaded struct {
	s *Session

	rows             map[int64]*row // locked for change, or made
	reads            map[int64]*row // read without a lock
	references       map[int64]*reference
	missing          map[int64]bool // ids that have no row
	edgeSets         map[int64]*edgeSet
	dependents       map[int64][]*row // by the asset they copy from; some have moved on
	dependentsLoaded map[int64]bool
	parts            map[int64][]*row // by owner; some have moved on
	partsLoaded      map[int64]bool
	overLimit        bool                // the operations reach more assets than one request may change
	deletions        map[int64]*deletion // of deleted assets; nil for one without
	parents          map[parentKey]int64
	ancestors        map[int64][]ancestry // of projects
	locked           map[string]bool      // rows of tree_lock
}

func newLoaded(s *Session) *loaded {
	return &loaded{
		s: s, rows: map[int64]*row{}, reads: map[int64]*row{}, references: map[int64]*reference{}, missing: map[int64]bool{},
		edgeSets: map[int64]*edgeSet{}, dependents: map[int64][]*row{}, dependentsLoaded: map[int64]bool{},
		parts: map[int64][]*row{}, partsLoaded: map[int64]bool{}, deletions: map[int64]*deletion{},
		parents: map[parentKey]int64{}, ancestors: map[int64][]ancestry{}, locked: map[string]bool{},
	}
}

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

// find returns the asset stored as id, ok false when there is none.
func (l *loaded) find(ctx context.Context, id int64) (target, bool, error) {
	if t, ok := l.cached(id); ok {
		return t, true, nil
	}
	if l.missing[id] {
		return target{}, false, nil
	}
	if err := l.loadReferences(ctx, []int64{id}, ""); err != nil {
		return target{}, false, err
	}
	t, ok := l.cached(id)
	return t, ok, nil
}

func (l *loaded) cached(id int64) (target, bool) {
	if w := l.rows[id]; w != nil {
		return target{id: id, boxed: id, typ: w.typ, code: w.cur.code, row: w}, true
	}
	if l := l.references[id]; l != nil {
		return target{id: id, boxed: l.boxed, typ: l.typ, code: l.code, reference: l}, true
	}
	return target{}, false
}

// unknown leaves out what is loaded already, and doubles.
func (l *loaded) unknown(ids []int64) []int64 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	left := ids[:0:0]
	for _, id := range ids {
		if _, ok := l.cached(id); !ok {
			left = append(left, id)
		}
	}
	return left
}

// loadReferences reads what a run must know of assets it refers to. lock is empty,
// or the dialect's share lock for assets that others copy from: they must not
// move meanwhile.
func (l *loaded) loadReferences(ctx context.Context, ids []int64, lock string) error {
	layout := l.s.e.layout
	columns := `id, type, state, ` + isHidden(l.s.Who())
	for _, slot := range layout.copiedSlots {
		columns += ", " + layout.slots[slot].Name
	}
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		for _, id := range ids[:n] {
			l.missing[id] = true
		}
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		rows, err := l.s.tx.Query(ctx, `SELECT `+columns+` FROM asset WHERE id IN `+in+` ORDER BY id`+lock, args...)
		if err != nil {
			return fmt.Errorf("load references: %w", err)
		}
		if err := each(rows, func() error { return l.scanReference(rows, lock != "") }); err != nil {
			return fmt.Errorf("load references: %w", err)
		}
	}
	return nil
}

func (l *loaded) scanReference(rows *db.Rows, held bool) error {
	a := &reference{locked: held, copied: make([]any, len(l.s.e.layout.copiedSlots))}
	var typ int
	into := []any{&a.id, &typ, &a.code, &a.hidden}
	for i := range a.copied {
		into = append(into, &a.copied[i])
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	for i, slot := range l.s.e.layout.copiedSlots {
		a.copied[i] = column(l.s.e.layout.slots[slot].Kind, a.copied[i])
	}
	t, ok := l.s.e.model.TypeByCode(typ)
	if !ok {
		return fmt.Errorf("asset %d has the unknown type %d", a.id, typ)
	}
	a.typ, a.boxed = t, a.id
	l.references[a.id] = a
	delete(l.missing, a.id)
	return nil
}

// lock loads one asset for change, if it has not been yet.
func (l *loaded) lock(ctx context.Context, id int64) (*row, bool, error) {
	if w := l.rows[id]; w != nil {
		return w, true, nil
	}
	if err := l.loadRows(ctx, []int64{id}); err != nil {
		return nil, false, err
	}
	w := l.rows[id]
	return w, w != nil, nil
}

// loadRows locks assets in id order and loads them whole.
func (l *loaded) loadRows(ctx context.Context, ids []int64) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	columns := names(l.s.e.layout.columns, "") + ", " + isHidden(l.s.Who())
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		rows, err := l.s.tx.Query(ctx, `SELECT `+columns+` FROM asset WHERE id IN `+in+` ORDER BY id`+l.s.e.db.Dialect.ForUpdate, args...)
		if err != nil {
			return fmt.Errorf("lock assets: %w", err)
		}
		err = each(rows, func() error {
			w, err := l.scanRow(rows)
			if err == nil && l.rows[w.id] == nil {
				l.rows[w.id] = w
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
func (l *loaded) scanRow(rows *db.Rows) (*row, error) {
	layout := l.s.e.layout
	w, st := &row{}, &state{until: forever}
	st.slots = make([]any, len(layout.slots))
	var typ int
	var attrs any
	into := make([]any, 0, len(layout.columns))
	into = append(into, &w.id, &typ, &st.code, &st.moment, &st.audit, &st.createdMoment, &st.createdAt, &st.createdBy, &st.changedAt, &st.changedBy)
	for i := range st.slots {
		into = append(into, &st.slots[i])
	}
	into = append(into, &attrs, &w.hidden)
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	for i := range st.slots {
		st.slots[i] = column(layout.slots[i].Kind, st.slots[i])
	}
	var err error
	if st.attrs, err = parseAttrs(textOf(attrs)); err != nil {
		return nil, fmt.Errorf("asset %d: %w", w.id, err)
	}
	t, ok := l.s.e.model.TypeByCode(typ)
	if !ok {
		return nil, fmt.Errorf("asset %d has the unknown type %d", w.id, typ)
	}
	st.partOp = l.s.partOps[w.id]
	w.typ, w.cur, w.stored = t, st, st
	return w, nil
}

// read returns an asset with its values: as the run changes it, else as it is
// stored. It is not locked.
func (l *loaded) read(ctx context.Context, t target) (*row, error) {
	if t.row != nil {
		return t.row, nil
	}
	if w := l.reads[t.id]; w != nil {
		return w, nil
	}
	rows, err := l.s.tx.Query(ctx, `SELECT `+names(l.s.e.layout.columns, "")+`, `+isHidden(l.s.Who())+` FROM asset WHERE id = ?`, t.id)
	if err != nil {
		return nil, fmt.Errorf("read asset: %w", err)
	}
	w := &row{id: t.id, typ: t.typ, cur: &state{slots: make([]any, len(l.s.e.layout.slots))}}
	err = each(rows, func() (err error) {
		w, err = l.scanRow(rows)
		return err
	})
	l.reads[t.id] = w
	return w, err
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
