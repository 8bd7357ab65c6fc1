package asset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// reference is what is known of an asset that is only referred to.
type reference struct {
	id     int64
	boxed  any // id as an any, made once: a scope goes into thousands of rows
	typ    *meta.Type
	code   int   // AssetState
	hidden bool  // it lies in a deleted project
	copied []any // the slots others copy, in the order of layout.copiedSlots
	locked bool  // against change, for the rest of the transaction
}

// target is an asset that a value, a context or a command names.
type target struct {
	id        int64
	boxed     any
	typ       *meta.Type
	code      int
	row       *row       // loaded for change or made in this batch
	reference *reference // otherwise
}

// isDeleted reports whether nothing may refer to the asset: it or a project that
// it lies in is deleted.
func (t target) isDeleted() bool {
	return t.code == meta.StateDeleted || t.row != nil && t.row.hidden || t.reference != nil && t.reference.hidden
}

// slot reads a slot that others copy.
func (t target) slot(l *layout, slot int) any {
	if t.row != nil {
		return t.row.cur.slots[slot]
	}
	return t.reference.copied[slices.Index(l.copiedSlots, slot)]
}

// target returns a loaded row as what a value may name.
func (w *row) target() target {
	return target{id: w.id, boxed: w.id, typ: w.typ, code: w.cur.code, row: w}
}

// loaded is what this batch has read: rows, references, edges and
// trees, each read once. It reads and locks, and knows nothing of commands.
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
	several          bool                // commands are carried out together, and may be so in parts
	bytes            int64               // of the texts of rows
	deletions        map[int64]*deletion // of deleted assets; nil for one without
	parents          map[parentKey]int64
	ancestors        map[int64][]ancestry // of projects
	locked           map[string]bool      // rows of tree_lock
	seen             map[int64]bool       // whether the caller sees an asset with a rule of its own
	sealed           map[int64]bool       // whether others name an asset so that it changes no more; see meta.Type.Sealed
}

type parentKey struct {
	id   int64
	slot int
}

func newLoaded(s *Session) *loaded {
	return &loaded{
		s: s, rows: map[int64]*row{}, reads: map[int64]*row{}, references: map[int64]*reference{}, missing: map[int64]bool{},
		edgeSets: map[int64]*edgeSet{}, dependents: map[int64][]*row{}, dependentsLoaded: map[int64]bool{},
		parts: map[int64][]*row{}, partsLoaded: map[int64]bool{}, deletions: map[int64]*deletion{}, sealed: map[int64]bool{},
		parents: map[parentKey]int64{}, ancestors: map[int64][]ancestry{}, locked: map[string]bool{}, seen: map[int64]bool{},
	}
}

// find returns the asset stored as id, ok false when there is none.
func (l *loaded) find(ctx context.Context, id int64) (target, bool, error) {
	if t, ok := l.cached(id); ok || l.missing[id] {
		return t, ok, nil
	}
	err := l.loadReferences(ctx, []int64{id})
	t, ok := l.cached(id)
	return t, ok, err
}

func (l *loaded) cached(id int64) (target, bool) {
	if w := l.rows[id]; w != nil {
		return w.target(), true
	}
	if a := l.references[id]; a != nil {
		return target{id: id, boxed: a.boxed, typ: a.typ, code: a.code, reference: a}, true
	}
	return target{}, false
}

// unknown returns the ids that are not loaded, each once, in order.
func (l *loaded) unknown(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id int64) bool {
		_, ok := l.cached(id)
		return ok
	})
}

// lockReferences locks assets that are not written and must not change meanwhile: those that
// others copy from or belong to, and those that hold a link which is written. It reads what
// must be known of them. Who changes one writes its row, too.
func (l *loaded) lockReferences(ctx context.Context, ids []int64) error {
	for in, args := range db.InChunks(ids) {
		if _, err := l.s.tx.Lock(ctx, "asset", "id IN "+in+" ORDER BY id", args...); err != nil {
			return fmt.Errorf("lock references: %w", err)
		}
	}
	if err := l.loadReferences(ctx, ids); err != nil {
		return err
	}
	for _, id := range ids {
		if a := l.references[id]; a != nil {
			a.locked = true
		}
	}
	return nil
}

// lockHolder locks an asset that holds links which are written from their other end, or
// a role that is: whoever writes one of them, from any end, waits. What was read of its
// links before is read again.
func (l *loaded) lockHolder(ctx context.Context, id int64) error {
	if l.rows[id] != nil || l.references[id] != nil && l.references[id].locked {
		return nil
	}
	delete(l.edgeSets, id)
	return l.lockReferences(ctx, []int64{id})
}

// loadReferences reads what must be known of assets that are referred to.
func (l *loaded) loadReferences(ctx context.Context, ids []int64) error {
	columns := `id, type, state, ` + isHidden(l.s.Who())
	for _, slot := range l.s.e.layout.copiedSlots {
		columns += ", " + l.s.e.layout.slots[slot].Name
	}
	for _, id := range ids {
		l.missing[id] = true
	}
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, l.s.tx, `SELECT `+columns+` FROM asset WHERE id IN `+in+` ORDER BY id`, args, l.scanReference)
		if err != nil {
			return fmt.Errorf("load references: %w", err)
		}
	}
	if slices.ContainsFunc(ids, func(id int64) bool { return l.missing[id] }) {
		db.Missed(l.s.tx)
	}
	return nil
}

func (l *loaded) scanReference(scan db.Scanner) error {
	a := &reference{copied: make([]any, len(l.s.e.layout.copiedSlots))}
	var typ int
	into := []any{&a.id, &typ, &a.code, &a.hidden}
	for i := range a.copied {
		into = append(into, &a.copied[i])
	}
	if err := scan.Scan(into...); err != nil {
		return err
	}
	for i, slot := range l.s.e.layout.copiedSlots {
		a.copied[i] = value.FromColumn(l.s.e.layout.slots[slot].Kind, a.copied[i])
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

// lock loads one asset for change, ok false when there is none.
func (l *loaded) lock(ctx context.Context, id int64) (w *row, ok bool, err error) {
	if l.rows[id] == nil {
		err = l.loadRows(ctx, []int64{id})
	}
	w = l.rows[id]
	return w, w != nil, err
}

// loadRows locks assets in id order and loads them whole.
func (l *loaded) loadRows(ctx context.Context, ids []int64) error {
	slices.Sort(ids)
	for in, args := range db.InChunks(slices.Compact(ids)) {
		err := db.Each(ctx, l.s.tx, l.selectRows()+` IN `+in+` ORDER BY id`+l.s.e.db.Dialect.ForUpdate, args, func(scan db.Scanner) error {
			w, err := l.scanRow(scan)
			if err == nil && l.rows[w.id] == nil {
				l.rows[w.id] = w
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("lock assets: %w", err)
		}
	}
	if slices.ContainsFunc(ids, func(id int64) bool { return l.rows[id] == nil }) {
		db.Missed(l.s.tx)
	}
	return nil
}

// selectRows is the statement that scanRow reads, up to the id.
func (l *loaded) selectRows() string {
	return `SELECT ` + strings.Join(slices.Concat(l.s.e.layout.columns, db.HashColumns(), []string{isHidden(l.s.Who())}), ", ") + ` FROM asset WHERE id`
}

// scanRow reads an asset with all its columns.
func (l *loaded) scanRow(scan db.Scanner) (*row, error) {
	layout := l.s.e.layout
	w, st := &row{}, &state{until: db.Forever, slots: make([]any, len(layout.slots))}
	var typ int
	var attrs any
	into := make([]any, 0, len(layout.columns)+len(st.hashes)+1)
	into = append(into, &w.id, &typ, &st.code, &st.moment, &st.audit, &st.createdMoment, &st.createdAt, &st.createdBy, &st.changedAt, &st.changedBy)
	for i := range st.slots {
		into = append(into, &st.slots[i])
	}
	into = append(into, &attrs)
	for i := range st.hashes {
		into = append(into, &st.hashes[i])
	}
	into = append(into, &w.hidden)
	if err := scan.Scan(into...); err != nil {
		return nil, err
	}
	for i := range st.slots {
		st.slots[i] = value.FromColumn(layout.slots[i].Kind, st.slots[i])
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
	return w, l.count(st)
}

// count counts a row that was read. Errors: errSplit where fewer commands would read less;
// fault.Invalid, with which the request ends.
func (l *loaded) count(st *state) error {
	l.bytes += st.textSize()
	l.s.read++
	switch most := l.s.e.MaxAssets; {
	case most > 0 && l.s.read > maxReadByAsset*most:
		return tooManyRead(maxReadByAsset * most)
	case l.several && l.bytes > maxHeld:
		return errSplit
	case l.bytes > maxHeldOfOne:
		return tooMuchHeld()
	}
	return nil
}

// read returns an asset with its values, without a lock: as the batch has changed
// it, else as it is stored.
func (l *loaded) read(ctx context.Context, t target) (*row, error) {
	if t.row != nil {
		return t.row, nil
	}
	if w := l.reads[t.id]; w != nil {
		return w, nil
	}
	w := &row{id: t.id, typ: t.typ, cur: &state{slots: make([]any, len(l.s.e.layout.slots))}}
	err := db.Each(ctx, l.s.tx, l.selectRows()+` = ?`, []any{t.id}, func(scan db.Scanner) (err error) {
		w, err = l.scanRow(scan)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read asset: %w", err)
	}
	l.reads[t.id] = w
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
