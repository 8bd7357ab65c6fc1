package asset

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/write/asset/names"
	"github.com/alds-dev/alds/internal/write/asset/rank"
)

// prefetch collects the data that a batch must lock and read before its first command is checked.
type prefetch struct {
	s            *Session
	layout       *layout
	locks        []int64                  // ids of assets that the batch changes
	followed     []int64                  // ids of references that are locked; see lockReferences
	references   []int64                  // ids of other references
	names        map[names.Space][]string // key: space; value: names to look up in the space
	spaces       []names.Space            // the keys of names, in the order in which they were added
	seenNames    map[nameKey]bool         // key: name that the map names already contains
	edges        map[edgeGroup][]int64    // value: ids of the assets at which the edges begin
	reverseLinks map[int][]int64          // key: code of a relation; value: ids of assets at which its edges begin
	trees        map[string]bool          // key: name of a row of tree_lock
	sources      []int64                  // ids of assets whose dependents are loaded
	owners       []int64                  // ids of assets whose parts are loaded
	deleted      []int64                  // ids of assets to be restored
	tracked      []int64                  // ids of workitems whose effort is written, if settings restrict effort
	sealable     map[*meta.Attr][]int64   // key: meta.Type.Sealed; value: ids of assets to be changed
	creates      int64                    // number of ids to reserve for new assets
	undone       []undoing                // the assets and versions that the batch takes back
}

// edgeGroup identifies the edges that have one code and begin at assets of one type.
type edgeGroup struct{ code, fromType int }

// addReference adds an asset that the batch refers to. If followed is true, the batch locks the
// asset.
func (p *prefetch) addReference(id int64, followed bool) {
	if followed {
		p.followed = append(p.followed, id)
		return
	}
	p.references = append(p.references, id)
}

// addName adds a name to look up, unless it has been added.
func (p *prefetch) addName(key nameKey) {
	if p.seenNames[key] {
		return
	}
	p.seenNames[key] = true
	if p.names[key.in] == nil {
		p.spaces = append(p.spaces, key.in)
	}
	p.names[key.in] = append(p.names[key.in], key.name)
}

func (p *prefetch) addEdges(code int, t *meta.Type, id int64) {
	g := edgeGroup{code, t.Code}
	p.edges[g] = append(p.edges[g], id)
}

// prefetch resolves all references of a batch together. It locks the assets that the batch
// changes, in the order of their ids, and loads the data that the checks need. Other data is
// loaded when a check needs it.
func (x *executor) prefetch(ctx context.Context, commands []*Command) error {
	p := &prefetch{
		s: x.s, layout: x.s.e.layout,
		names: map[names.Space][]string{}, seenNames: map[nameKey]bool{}, edges: map[edgeGroup][]int64{},
		reverseLinks: map[int][]int64{}, trees: map[string]bool{}, sealable: map[*meta.Attr][]int64{},
	}
	for _, c := range commands {
		p.collect(c)
	}
	return p.load(ctx, x, len(commands) > 1)
}

// load locks and reads the collected data. several is true if the batch has several commands.
func (p *prefetch) load(ctx context.Context, x *executor, several bool) (err error) {
	if p.creates > 0 {
		if x.nextID, err = x.s.e.ids.Next(ctx, x.s.e.db, x.s.tx, p.creates); err != nil {
			return err
		}
	}
	l := x.loaded
	for _, step := range []func() error{
		func() error { return l.lockTrees(ctx, p.trees) },
		func() error { return l.loadRows(ctx, p.locks) },
		func() error { return p.loadPasts(ctx, l) },
		func() error { return p.resolveNames(ctx, x.resolver) },
		func() error { return l.lockReferences(ctx, l.unknown(p.followed)) },
		func() error { return l.loadReferences(ctx, l.unknown(p.references)) },
		func() error { return p.loadTracked(ctx, l) },
		func() error { return l.foreseeSeen(ctx, p.locks) },
		func() error { return p.loadEdges(ctx, l) },
		func() error { return l.loadParts(ctx, p.owners, several) },
		func() error { return l.loadDeletions(ctx, append(p.deleted, l.deletedParts(p.deleted)...)) },
		func() error { return l.loadDependents(ctx, p.sources) },
		func() error { return p.loadSealed(ctx, l) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// collect adds the data that one command must lock and read.
func (p *prefetch) collect(c *Command) {
	t := p.s.typeOf(c)
	id, existing := p.s.idOf(c.Target)
	switch {
	case c.Verb == Create:
		p.creates++
		if t.Secured.Self {
			p.trees[t.Name] = true
		}
		if ctx, ok := p.s.idOf(c.Context); ok {
			tr := p.layout.types[t]
			p.addReference(ctx, tr != nil && len(tr.sources) > 0)
		}
	case existing:
		p.locks = append(p.locks, id)
	}
	if t == nil {
		return
	}
	if c.Verb == Undo {
		p.undone = append(p.undone, undoing{id, t, c.Undone.Moments, c.Undone.Linked})
		if t.Secured.Self {
			p.trees[t.Name] = true
		}
	}
	for i := range c.Changes {
		if a, ok := t.Attr(c.Changes[i].Name); ok {
			p.collectChange(c, t, a, &c.Changes[i], id, existing)
		}
	}
	switch {
	case c.Verb == Operate && existing:
		p.collectOp(t, c, id)
	case c.Verb == Update && existing && t.Sealed != nil:
		p.sealable[t.Sealed] = append(p.sealable[t.Sealed], id)
	}
}

func (p *prefetch) loadSealed(ctx context.Context, l *loaded) error {
	for by, ids := range p.sealable {
		if err := l.loadSealed(ctx, by, ids); err != nil {
			return err
		}
	}
	return nil
}

// collectChange adds the data that one change needs: the assets that its values name, the trees
// that it may reorder, and the edges and dependents of the changed asset. existing is true if the
// changed asset exists; id is then its id.
func (p *prefetch) collectChange(c *Command, t *meta.Type, a *meta.Attr, ch *Change, id int64, existing bool) {
	if existing && (a.Place.Kind == meta.InLinks || a.Place.Kind == meta.InValues) {
		p.addEdges(edgeCode(a), t, id)
	}
	if a.Kind == meta.Rank {
		p.trees[rank.Sequence(t)] = true
	}
	if p.s.e.bindsTracking() {
		p.collectTracked(t, a, ch, id, existing)
	}
	if existing && p.layout.hasDependents(t, a) {
		p.sources = append(p.sources, id)
	}
	if a.Kind != meta.Relation {
		return
	}
	if tree := treeOf(t, a); tree != "" && (c.Verb != Create || a.Multi) {
		p.trees[tree] = true
	}
	ch.each(func(v Value) { p.collectValue(t, a, v, c.Verb == Create) })
}

// collectValue adds the data that one value of a relation needs. isNew is true if the command creates the asset.
func (p *prefetch) collectValue(t *meta.Type, a *meta.Attr, v Value, isNew bool) {
	if isName(v) {
		for _, in := range names.SpacesOf(a) {
			p.addName(nameKey{in, v.Text})
		}
		return
	}
	id, ok := p.s.valueID(v)
	if !ok {
		return
	}
	if storedAtOtherEnd(a) {
		p.locks = append(p.locks, id)
		if p.layout.hasDependents(a.Related, a.Back) {
			p.sources = append(p.sources, id)
		}
		if a.Back.Place.Kind == meta.InLinks {
			p.reverseLinks[a.Back.Place.Code] = append(p.reverseLinks[a.Back.Place.Code], id)
		}
		if by := a.Related.Sealed; by != nil {
			p.sealable[by] = append(p.sealable[by], id)
		}
		return
	}
	back := a.Place.Kind == meta.InLinksBack
	p.addReference(id, back || p.layout.follows(t, a))
	if back && !isNew { // nothing refers to a new asset yet
		p.reverseLinks[a.Place.Code] = append(p.reverseLinks[a.Place.Code], id)
	}
}

// collectOp adds the data that an operation needs: the edges that it reads and sets, and the
// dependents and parts of its asset.
func (p *prefetch) collectOp(t *meta.Type, c *Command, id int64) {
	op, ok := t.Op(c.Op)
	if !ok {
		return
	}
	if op.Effect.Code != "" && !t.Secured.Self && t.Name != "Member" {
		p.sources = append(p.sources, id)
	}
	for name := range op.Effect.Set {
		if a, ok := t.Attr(name); ok && a.Place.Kind == meta.InLinks {
			p.addEdges(a.Place.Code, t, id)
		}
	}
	for _, a := range op.Needs {
		if a.Place.Kind == meta.InLinks {
			p.addEdges(a.Place.Code, t, id)
		}
	}
	if copies[op.Effect.Code] {
		for _, code := range copiedCodes(t) {
			p.addEdges(code, t, id)
		}
	}
	if len(p.layout.partRules(t, op.Name)) > 0 {
		p.owners = append(p.owners, id)
	}
	if op.Effect.Back {
		p.deleted = append(p.deleted, id)
		if tr := p.layout.types[t]; tr != nil && tr.stateAttr != nil {
			p.addEdges(tr.stateAttr.Place.Code, t, id)
		}
	}
	if t.Secured.Self && hidesScopes(op) {
		p.trees[t.Name] = true
	}
}

// resolveNames looks up all names of a batch, with one query for each space and attribute.
// It adds the found assets to the references.
func (p *prefetch) resolveNames(ctx context.Context, r *resolver) error {
	for _, in := range p.spaces {
		if err := r.lookupNames(ctx, in, p.names[in]); err != nil {
			return err
		}
		for _, name := range p.names[in] {
			if meant := r.named[nameKey{in, name}]; meant.One {
				p.references = append(p.references, meant.ID)
			}
		}
	}
	return nil
}

// loadEdges reads the edges that the commands need.
func (p *prefetch) loadEdges(ctx context.Context, l *loaded) error {
	for relation, ids := range p.reverseLinks {
		for _, id := range ids {
			if t, ok := l.cached(id); ok {
				p.addEdges(relation, t.typ, id)
			}
		}
	}
	for g, ids := range p.edges {
		slices.Sort(ids)
		err := l.loadEdges(ctx, g.code, g.fromType, slices.Compact(ids))
		if err != nil {
			return err
		}
	}
	return nil
}
