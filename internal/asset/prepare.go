package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// prefetch is everything a stretch must know before its first command is checked.
type prefetch struct {
	locks, shares, references []int64
	names                     map[namespace][]string
	namespaces                []namespace // of names, in the order met
	seenNames                 map[nameKey]bool
	edges                     map[edgeGroup][]int64
	reverseLinks              map[int][]int64 // by relation: the ids at the other end
	trees                     map[string]bool
	sources                   []int64
	owners                    []int64 // of parts that operations reach
	deleted                   []int64 // assets to be brought back
	creates                   int64
}

// edgeGroup is a relation (or, below zero, a multi-value scalar) from one type.
type edgeGroup struct{ code, fromType int }

// prepare resolves all references of a stretch at once, locks what it changes
// in id order, and loads what the checks need. What it overlooks is loaded
// when a check asks for it.
func (r *run) prepare(ctx context.Context, commands []*Command) error {
	w := &prefetch{
		names: map[namespace][]string{}, seenNames: map[nameKey]bool{}, edges: map[edgeGroup][]int64{},
		reverseLinks: map[int][]int64{}, trees: map[string]bool{},
	}
	for _, c := range commands {
		r.collect(w, c)
	}
	if w.creates > 0 {
		first, err := r.e.nextIDs(ctx, r.s.tx, w.creates)
		if err != nil {
			return err
		}
		r.nextID = first
	}
	if err := r.lockTrees(ctx, w.trees); err != nil {
		return err
	}
	if err := r.loadRows(ctx, w.locks); err != nil {
		return err
	}
	if err := r.resolveNames(ctx, w); err != nil {
		return err
	}
	if err := r.loadReferences(ctx, r.unknown(w.shares), r.e.db.Dialect.ForShare); err != nil {
		return err
	}
	if err := r.loadReferences(ctx, r.unknown(w.references), ""); err != nil {
		return err
	}
	if err := r.loadCollected(ctx, w); err != nil {
		return err
	}
	if err := r.loadParts(ctx, w.owners, len(commands) > 1); err != nil {
		return err
	}
	if len(w.deleted) > 0 {
		if err := r.loadDeletions(ctx, append(w.deleted, r.deletedParts(w.deleted)...)); err != nil {
			return err
		}
	}
	return r.loadDependents(ctx, w.sources)
}

// collect notes what one command needs.
func (r *run) collect(w *prefetch, c *Command) {
	t := r.s.typeOf(c)
	id, existing := r.s.idOf(c.Target)
	switch {
	case c.Verb == Create:
		w.creates++
		if t.Secured.Self {
			w.trees[t.Name] = true
		}
		if ctx, ok := r.s.idOf(c.Context); ok {
			tr := r.e.layout.types[t]
			w.addReference(ctx, tr != nil && len(tr.sources) > 0)
		}
	case existing:
		w.locks = append(w.locks, id)
	}
	if t == nil {
		return
	}
	for i := range c.Changes {
		if a, ok := t.Attr(c.Changes[i].Name); ok {
			r.collectChange(w, c, t, a, &c.Changes[i], id, existing)
		}
	}
	if c.Verb == Operate && existing {
		r.collectOp(w, t, c, id)
	}
}

func (w *prefetch) addReference(id int64, share bool) {
	if share {
		w.shares = append(w.shares, id)
		return
	}
	w.references = append(w.references, id)
}

// collectChange notes what one change needs: the assets its values name, and
// the links and followers of an asset that is there already.
func (r *run) collectChange(w *prefetch, c *Command, t *meta.Type, a *meta.Attr, ch *Change, id int64, existing bool) {
	switch a.Place.Kind {
	case meta.InLinks:
		if existing {
			w.addEdges(a.Place.Code, t, id)
		}
	case meta.InValues:
		if existing {
			w.addEdges(-a.Place.Code, t, id)
		}
	}
	if a.Kind == meta.Rank {
		w.trees[rankSequence(t)] = true
	}
	if existing && r.hasDependents(t, a) {
		w.sources = append(w.sources, id)
	}
	if a.Kind != meta.Relation {
		return
	}
	if tree := treeOf(t, a); tree != "" && (c.Verb != Create || a.Multi) {
		w.trees[tree] = true
	}
	ch.each(func(v Value) { r.collectValue(w, t, a, v) })
}

func (r *run) collectValue(w *prefetch, t *meta.Type, a *meta.Attr, v Value) {
	if isName(v) {
		for _, in := range namespacesOf(a) {
			w.addName(nameKey{in, v.Text})
		}
		return
	}
	id, ok := r.s.valueID(v)
	if !ok {
		return
	}
	if storedAtOtherEnd(a) {
		w.locks = append(w.locks, id)
		if r.hasDependents(a.Related, a.Back) {
			w.sources = append(w.sources, id)
		}
		return
	}
	tr := r.e.layout.types[t]
	share := false
	if tr != nil {
		_, share = tr.sourceOf(a.Name)
	}
	w.addReference(id, share)
	if a.Place.Kind == meta.InLinksBack {
		w.reverseLinks[a.Place.Code] = append(w.reverseLinks[a.Place.Code], id)
	}
}

// addName notes a name to be looked up.
func (w *prefetch) addName(key nameKey) {
	if w.seenNames[key] {
		return
	}
	w.seenNames[key] = true
	if w.names[key.in] == nil {
		w.namespaces = append(w.namespaces, key.in)
	}
	w.names[key.in] = append(w.names[key.in], key.name)
}

// collectOp notes the links that an operation sets, and what it reaches.
func (r *run) collectOp(w *prefetch, t *meta.Type, c *Command, id int64) {
	op, ok := t.Op(c.Op)
	if !ok {
		return
	}
	if op.Effect.Code != "" && !t.Secured.Self && t.Name != "Member" {
		w.sources = append(w.sources, id)
	}
	for name := range op.Effect.Set {
		if a, ok := t.Attr(name); ok && a.Place.Kind == meta.InLinks {
			w.addEdges(a.Place.Code, t, id)
		}
	}
	for _, a := range op.Needs {
		if a.Place.Kind == meta.InLinks {
			w.addEdges(a.Place.Code, t, id)
		}
	}
	if len(r.e.layout.partRules(t, op.Name)) > 0 {
		w.owners = append(w.owners, id)
	}
	if op.Effect.Back {
		w.deleted = append(w.deleted, id)
		if tr := r.e.layout.types[t]; tr != nil && tr.stateAttr != nil {
			w.addEdges(tr.stateAttr.Place.Code, t, id)
		}
	}
	if t.Secured.Self && hidesScopes(op) {
		w.trees[t.Name] = true
	}
}

func (w *prefetch) addEdges(code int, t *meta.Type, id int64) {
	g := edgeGroup{code, t.Code}
	w.edges[g] = append(w.edges[g], id)
}

// storedAtOtherEnd reports whether a relation is kept by the asset at its other
// end, which therefore changes with it.
func storedAtOtherEnd(a *meta.Attr) bool {
	return a.Place.Kind == meta.Reverse || a.Place.Kind == meta.InLinksBack && a.Back != nil && a.Back.ToOne()
}

// hasDependents reports whether assets may have to follow when a changes on a t.
func (r *run) hasDependents(t *meta.Type, a *meta.Attr) bool {
	if a == nil || !a.ToOne() {
		return false
	}
	if a.Place.Kind == meta.InColumn && slices.Contains(r.e.layout.copiedSlots, a.Place.Slot) {
		return true
	}
	for _, c := range t.Concrete {
		if tr := r.e.layout.types[c]; tr != nil {
			if _, ok := tr.sourceOf(a.Name); ok {
				return true
			}
		}
	}
	return false
}

// treeOf returns the tree that a change of a may reorder: a is the upward
// attribute, or its back side.
func treeOf(t *meta.Type, a *meta.Attr) string {
	if a.Place.Kind == meta.Reverse && a.Back != nil {
		return upTree(a.Back.On, a.Back.Name)
	}
	if a.ToOne() {
		return upTree(t, a.Name)
	}
	return ""
}

// idOf returns the stored id of what a command addresses, if it exists before
// the stretch.
func (s *Session) idOf(ref Ref) (int64, bool) {
	if ref.Handle != nil {
		return ref.Handle.ID, ref.Handle.Made
	}
	if ref.OID.IsNull() {
		return 0, false
	}
	t, ok := s.e.model.Type(ref.OID.Type)
	if !ok {
		return 0, false
	}
	return t.Stored(ref.OID.ID), true
}

func (s *Session) valueID(v Value) (int64, bool) {
	if v.Kind != Text || v.Text == "" {
		return 0, false
	}
	if v.isAlias() {
		h, ok := s.Alias(v.Text)
		if !ok {
			return 0, false
		}
		return h.ID, true
	}
	return storedID(s.e.model, v.Text)
}

// unknown leaves out what is loaded already, and doubles.
func (r *run) unknown(ids []int64) []int64 {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	left := ids[:0:0]
	for _, id := range ids {
		if _, ok := r.cached(id); !ok {
			left = append(left, id)
		}
	}
	return left
}

// resolveNames looks up all names of a stretch, one query per namespace
// and attribute, and what they mean.
func (r *run) resolveNames(ctx context.Context, w *prefetch) error {
	for _, in := range w.namespaces {
		if err := r.lookupNames(ctx, in, w.names[in]); err != nil {
			return err
		}
		for _, name := range w.names[in] {
			if meant := r.named[nameKey{in, name}]; meant.one {
				w.references = append(w.references, meant.id)
			}
		}
	}
	return nil
}

// loadCollected reads the edges that the commands need.
func (r *run) loadCollected(ctx context.Context, w *prefetch) error {
	for relation, ids := range w.reverseLinks {
		for _, id := range ids {
			if t, ok := r.cached(id); ok {
				w.addEdges(relation, t.typ, id)
			}
		}
	}
	for g, ids := range w.edges {
		slices.Sort(ids)
		err := r.loadEdges(ctx, g.code, g.fromType, slices.Compact(ids))
		if err != nil {
			return err
		}
	}
	return nil
}

// lockTrees takes the locks of the trees and rank spaces that a stretch
// reorders, so that two moves at once cannot make a cycle or come to the same
// place.
func (r *run) lockTrees(ctx context.Context, trees map[string]bool) error {
	for _, tree := range slices.Sorted(maps.Keys(trees)) {
		if r.locked[tree] {
			continue
		}
		err := r.lockTree(ctx, tree)
		if fault.KindOf(err) == fault.NotFound { // a rank space is ranked in for the first time
			err = db.UpsertN(ctx, r.s.tx, "tree_lock", []string{"name"}, []string{"name"}, nil, 1, func(int) []any { return []any{tree} })
		}
		if err != nil {
			return fmt.Errorf("lock tree %s: %w", tree, err)
		}
		r.locked[tree] = true
	}
	return nil
}

func (r *run) lockTree(ctx context.Context, tree string) error {
	var name string
	return r.s.tx.QueryRow(ctx, `SELECT name FROM tree_lock WHERE name = ?`+r.e.db.Dialect.ForUpdate, tree).Scan(&name)
}
