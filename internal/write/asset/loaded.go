package asset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/scopes"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// reference is an asset that the batch refers to but does not write.
type reference struct {
	id     int64
	boxed  any // id, boxed once because thousands of rows may contain the id of a project
	typ    *meta.Type
	code   int   // AssetState
	hidden bool  // true if the asset is in a hidden project
	copied []any // the slots that other assets copy, in the order of layout.copiedSlots
	locked bool  // true if no other transaction can change the asset before this transaction ends
}

// target is an asset that a value, a context or a command names.
type target struct {
	id        int64
	boxed     any // id
	typ       *meta.Type
	code      int        // AssetState
	row       *row       // set if the asset is loaded for change or made in this batch
	reference *reference // set if row is nil
}

// isDeleted reports whether the asset is deleted or in a hidden project. New references to such
// an asset are refused.
func (t target) isDeleted() bool {
	return t.code == meta.StateDeleted || t.row != nil && t.row.hidden || t.reference != nil && t.reference.hidden
}

// slot returns the value of a slot in layout.copiedSlots.
func (t target) slot(l *layout, slot int) any {
	if t.row != nil {
		return t.row.cur.Slots[slot]
	}
	return t.reference.copied[slices.Index(l.copiedSlots, slot)]
}

// target returns the row as a target.
func (w *row) target() target {
	return target{id: w.id, boxed: w.id, typ: w.typ, code: w.cur.code, row: w}
}

// loaded reads and locks the rows, references, edges and trees of a batch, and caches them.
// It does not depend on commands. The maps have stored ids as keys, unless a comment names
// another key.
type loaded struct {
	s *Session

	rows             map[int64]*row // locked, or made in this batch
	reads            map[int64]*row // read without a lock
	references       map[int64]*reference
	missing          map[int64]bool // ids that have no row
	edgeSets         map[int64]*edgeSet
	dependents       map[int64][]*row // key: asset from which these rows copy; by now some may copy from another asset
	dependentsLoaded map[int64]bool
	parts            map[int64][]*row // key: owner of the parts; by now some parts may have another owner
	partsLoaded      map[int64]bool
	several          bool                    // true if the batch has several commands, so it can be split
	bytes            int64                   // bytes of text in the rows that were read
	deletions        map[int64]*deletion     // a nil entry: the asset was read and is not deleted
	parents          map[parentKey]int64     // noID: no parent
	ancestors        map[int64][]ancestry    // ancestors of projects
	locked           map[string]bool         // names of locked rows of tree_lock
	seen             map[int64]bool          // whether the caller sees an asset whose type has a rule (meta.Type.Seen)
	pasts            map[int64]*past         // what Undo commands take back
	formerRanks      map[string]*formerRanks // key: sequence of ranks
	sealed           map[int64]bool          // whether a reference made the asset read-only (meta.Type.Sealed)
}

type parentKey struct {
	id   int64 // id of the child
	slot int   // slot of the column that refers to the parent
}

func newLoaded(s *Session) *loaded {
	return &loaded{
		s: s, rows: map[int64]*row{}, reads: map[int64]*row{}, references: map[int64]*reference{},
		missing: map[int64]bool{}, edgeSets: map[int64]*edgeSet{}, dependents: map[int64][]*row{},
		dependentsLoaded: map[int64]bool{}, parts: map[int64][]*row{}, partsLoaded: map[int64]bool{},
		deletions: map[int64]*deletion{}, sealed: map[int64]bool{}, parents: map[parentKey]int64{},
		ancestors: map[int64][]ancestry{}, locked: map[string]bool{}, seen: map[int64]bool{},
		pasts: map[int64]*past{}, formerRanks: map[string]*formerRanks{},
	}
}

// find returns the asset with a stored id. It returns false if the asset does not exist.
func (l *loaded) find(ctx context.Context, id int64) (target, bool, error) {
	if t, ok := l.cached(id); ok || l.missing[id] {
		return t, ok, nil
	}
	err := l.loadReferences(ctx, []int64{id})
	t, ok := l.cached(id)
	return t, ok, err
}

// cached returns the asset with a stored id if it has been loaded.
func (l *loaded) cached(id int64) (target, bool) {
	if w := l.rows[id]; w != nil {
		return w.target(), true
	}
	if a := l.references[id]; a != nil {
		return target{id: id, boxed: a.boxed, typ: a.typ, code: a.code, reference: a}, true
	}
	return target{}, false
}

// unknown returns the ids of assets that are not loaded, sorted and without duplicates. It
// changes the slice ids.
func (l *loaded) unknown(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id int64) bool {
		_, ok := l.cached(id)
		return ok
	})
}

// lockReferences locks and reads assets that the batch does not write, but that must not change
// before the batch ends. These are the sources of copied values, the owners of parts, and the
// assets that store a link which the batch writes from the other end. A lock of the row is enough,
// because every change of an asset writes its row.
func (l *loaded) lockReferences(ctx context.Context, ids []int64) error {
	for in, args := range db.InChunks(ids) {
		if err := l.s.tx.LockLater(ctx, "asset", "id IN "+in+" ORDER BY id", args...); err != nil {
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

// lockHolder locks an asset that stores links or roles which are written from their other end.
// Another transaction that writes these links or roles waits, from whichever end it writes. Links
// that were read before the lock are dropped from the cache, so that they are read again.
func (l *loaded) lockHolder(ctx context.Context, id int64) error {
	if l.rows[id] != nil || l.references[id] != nil && l.references[id].locked {
		return nil
	}
	delete(l.edgeSets, id)
	return l.lockReferences(ctx, []int64{id})
}

// loadReferences reads assets into l.references. It adds ids without a row to l.missing.
func (l *loaded) loadReferences(ctx context.Context, ids []int64) error {
	columns := `id, type, state, ` + scopes.IsHidden(l.s.Who())
	for _, slot := range l.s.e.layout.copiedSlots {
		columns += ", " + l.s.e.layout.Slots[slot].Name
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
		a.copied[i] = value.FromColumn(l.s.e.layout.Slots[slot].Kind, a.copied[i])
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

// lock locks and loads one asset. ok is false if the asset does not exist.
func (l *loaded) lock(ctx context.Context, id int64) (w *row, ok bool, err error) {
	if l.rows[id] == nil {
		err = l.loadRows(ctx, []int64{id})
	}
	w = l.rows[id]
	return w, w != nil, err
}

// loadRows locks assets in the order of their ids and loads all their columns. It sorts the
// slice ids.
func (l *loaded) loadRows(ctx context.Context, ids []int64) error {
	slices.Sort(ids)
	for in, args := range db.InChunks(slices.Compact(ids)) {
		query := l.selectRows() + ` IN ` + in + ` ORDER BY id` + l.s.e.db.Dialect.ForUpdate
		err := db.Each(ctx, l.s.tx, query, args, func(scan db.Scanner) error {
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

// selectRows returns the SELECT whose rows scanRow reads. It ends in "WHERE id", and the caller
// appends the condition for the id.
func (l *loaded) selectRows() string {
	columns := slices.Concat(l.s.e.layout.All(), db.HashColumns(), []string{scopes.IsHidden(l.s.Who())})
	return `SELECT ` + strings.Join(columns, ", ") + ` FROM asset WHERE id`
}

// scanRow reads an asset with all its columns.
func (l *loaded) scanRow(scan db.Scanner) (*row, error) {
	layout := l.s.e.layout
	w, st := &row{}, layout.newState()
	var typ int
	var attrs any
	into := make([]any, 0, len(layout.All())+len(st.Hashes)+1)
	into = append(into, &w.id, &typ, &st.code, &st.moment, &st.audit, &st.createdMoment, &st.createdAt, &st.createdBy,
		&st.changedAt, &st.changedBy)
	for i := range st.Slots {
		into = append(into, &st.Slots[i])
	}
	into = append(into, &attrs)
	for i := range st.Hashes {
		into = append(into, &st.Hashes[i])
	}
	into = append(into, &w.hidden)
	if err := scan.Scan(into...); err != nil {
		return nil, err
	}

	for i := range st.Slots {
		st.Slots[i] = value.FromColumn(layout.Slots[i].Kind, st.Slots[i])
	}
	var err error
	if st.Attrs, err = stored.Parse(textOf(attrs)); err != nil {
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

// count adds a row that was read to the totals of the batch and of the request.
// Errors: errSplit if the batch has read too much text and can be split; fault.Invalid with
// ErrReach, which ends the request.
func (l *loaded) count(st *state) error {
	l.bytes += st.TextSize()
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

// read returns an asset with its current values, including changes of the batch. It does not lock
// the asset.
func (l *loaded) read(ctx context.Context, t target) (*row, error) {
	if t.row != nil {
		return t.row, nil
	}
	if w := l.reads[t.id]; w != nil {
		return w, nil
	}
	w := &row{id: t.id, typ: t.typ, cur: l.s.e.layout.newState()}
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
