package asset

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
)

// Undone says which changes of an asset an Undo command takes back. After the command, it says what
// the command did not take back.
type Undone struct {
	// Moments are the moments of the versions whose changes the command takes back, ascending.
	Moments []int64
	// Linked is true if links or values may have begun or ended with one of the versions.
	Linked bool
	// Describe is true if the command fills Changes.
	Describe bool

	Changed   bool       // the command has changed something
	Conflicts []Conflict // what has changed since; the command leaves it as it is
	Hidden    int        // number of conflicts with assets that the caller may not see
	Kept      []string   // what no undo takes back; see KeptRoles and KeptLogin
	Changes   []Reverted // what the command has changed
}

// What no undo takes back, in Undone.Kept.
const (
	KeptRoles = "roles"
	KeptLogin = "passwords"
)

// Conflict is an attribute of an asset that has changed since the versions to take back.
type Conflict struct {
	Asset oid.OID
	Attr  string // name of the attribute; empty: the asset as a whole

	// Explain sets these fields. They describe the change that came last.
	By     string // Oid of the member; empty if the caller may not see the member
	At     int64  // UTC microseconds
	Moment int64

	attr  *meta.Attr // the attribute; nil: the asset as a whole
	state bool       // true if AssetState has changed
	id    int64      // stored id of the asset
	typ   *meta.Type
	since int64 // the last moment at which the versions to take back changed the attribute
	by    int64 // the moment of the change, if it is known; otherwise 0
}

// Reverted is a change that an Undo command has made. If the attribute has one value, Old and New
// are the values before and after, as they are stored; the value of a relation is an Oid. If it has
// several values, Added and Removed are texts.
type Reverted struct {
	Attr           *meta.Attr
	Old, New       any
	Added, Removed []string
}

func (u *Undone) reset() { *u = Undone{Moments: u.Moments, Linked: u.Linked, Describe: u.Describe} }

// undo takes back what some versions of an asset have changed. Values, links, ranks and states get
// the values that they had before. If an attribute has changed since, it stays as it is, and the
// command reports a conflict. The engine calls undo with the asset locked.
//
// The order of the commands of a request matters. An asset that the versions have created is deleted,
// which is a conflict as long as it has parts. So commands that delete parts come first.
func (x *executor) undo(ctx context.Context, c *Command) Outcome {
	c.Undone.reset()
	w, out := x.lockTarget(ctx, c)
	if w == nil {
		return out
	}
	sees, err := x.rules.visible(ctx, w.target())
	inHidden := w.hidden && !w.typ.Secured.Self // a deleted project itself may come back
	if err != nil || !sees || inHidden || x.loaded.pasts[w.id].hidden {
		c.Undone.Hidden++
		out.Err, out.Skipped = err, true
		return out
	}
	x.changes.touch(w)
	u := &undoer{executor: x, w: w, past: x.loaded.pasts[w.id], result: c.Undone}
	out.Err = u.run(ctx)
	c.Undone.Changed = w.dirty || w.links > 0
	return out
}

// undoer takes back the changes of one asset.
type undoer struct {
	*executor
	w      *row
	past   *past
	result *Undone
}

func (u *undoer) run(ctx context.Context) error {
	u.result.Kept = u.past.kept
	if u.past.made {
		return u.unmake(ctx)
	}
	wasDeleted := u.past.state.since != 0 && u.past.state.was == meta.StateDeleted
	if u.w.cur.code == meta.StateDeleted && u.past.code != meta.StateDeleted && !wasDeleted {
		u.conflict(nil, u.past.last).state = true
		return nil
	}
	if err := u.state(ctx); err != nil {
		return err
	}
	for i := range u.past.values {
		if err := u.proceed(ctx); err != nil {
			return err
		}
		if err := u.value(ctx, &u.past.values[i]); err != nil {
			return err
		}
	}
	if err := u.links(ctx); err != nil {
		return err
	}
	return u.set.deriveValues(ctx, u.w)
}

// conflict reports that an attribute has changed since; nil is the asset as a whole.
func (u *undoer) conflict(a *meta.Attr, since int64) *Conflict {
	c := Conflict{Asset: u.w.oid(), attr: a, id: u.w.id, typ: u.w.typ, since: since}
	if a != nil {
		c.Attr = a.Name
	}
	u.result.Conflicts = append(u.result.Conflicts, c)
	return &u.result.Conflicts[len(u.result.Conflicts)-1]
}

// unmake deletes an asset that the versions have created.
func (u *undoer) unmake(ctx context.Context) error {
	if u.w.cur.code == meta.StateDeleted {
		return nil
	}
	changed, err := u.changedSince(ctx)
	switch {
	case err != nil:
		return err
	case u.past.broken || changed:
		u.conflict(nil, u.past.last)
		return nil
	}
	return u.remove(ctx, 0)
}

// changedSince reports whether another request has changed the asset since. An earlier command of this
// request may also have changed it, for example by moving the asset of which it is a part.
func (u *undoer) changedSince(ctx context.Context) (bool, error) {
	if int64(u.w.stored.moment) == u.past.last || u.w.stored.audit != u.s.audit {
		return int64(u.w.stored.moment) != u.past.last, nil
	}
	n, err := db.Column[int64](ctx, u.s.tx, `SELECT COUNT(*) FROM asset_version WHERE id = ? AND moment > ? AND audit_id <> ?`,
		u.w.id, u.past.last, u.s.audit)
	return err != nil || n[0] > 0, err
}

// remove deletes the asset with its operation Delete, if it has no parts and nothing is below it. Assets that
// were there at the moment since do not count, unless since is 0.
func (u *undoer) remove(ctx context.Context, since int64) error {
	part, err := u.livePart(ctx, since)
	if err != nil {
		return err
	}
	if part != nil {
		u.conflict(nil, u.past.last).by = int64(part.cur.moment)
		return nil
	}
	below, err := u.liveBelow(ctx, since)
	if err != nil {
		return err
	}
	if below != 0 {
		u.conflict(nil, u.past.last).by = below
		return nil
	}
	const name = "Delete"
	op, ok := u.w.typ.Op(name)
	switch {
	case !ok:
		return UnknownOp(u.w.typ.Name, name)
	case needsQueries[op.Effect.Code] && u.loaded.several:
		return errSplit
	}
	was := u.w.cur.code
	if _, err := u.operations.run(ctx, u.w, &Command{Verb: Operate, Op: name}); err != nil {
		return err
	}
	u.describeState(was, op.Effect.To)
	return nil
}

// livePart returns a part of the asset that is not deleted, or nil. See remove for the parameter since.
func (u *undoer) livePart(ctx context.Context, since int64) (*row, error) {
	if err := u.loaded.loadParts(ctx, []int64{u.w.id}, u.loaded.several); err != nil {
		return nil, err
	}
	for _, rule := range u.s.e.layout.partRules(u.w.typ, "Delete") {
		for _, part := range u.loaded.parts[u.w.id] {
			was := part.stored != nil && u.wasThere(part.id, int64(part.stored.moment), part.stored.audit, since)
			if part.typ != rule.part || u.loaded.rows[part.id] != part || part.cur.code == meta.StateDeleted || was {
				continue
			}
			at, err := u.loaded.pointsTo(ctx, part, rule.relation)
			if err != nil || at == u.w.id {
				return part, err
			}
		}
	}
	return nil, nil
}

// wasThere reports whether an asset has not changed since a moment, except by this request. moment and audit
// are those of its current version.
func (u *undoer) wasThere(id, moment, audit, since int64) bool {
	return since != 0 && (moment <= since || audit == u.s.audit || u.s.undoes[id])
}

// liveBelow returns the moment of an asset that is not deleted and lies below the asset in a tree, or in
// the project that the asset is. Otherwise it returns 0.
func (u *undoer) liveBelow(ctx context.Context, since int64) (moment int64, err error) {
	var slots []int
	for _, h := range u.w.typ.Hierarchies {
		if h.Up.Place.Kind == meta.InColumn {
			slots = append(slots, h.Up.Place.Slot)
		}
	}
	if u.w.typ.Secured.Self {
		slots = append(slots, u.s.e.layout.scope)
	}
	for _, slot := range slots {
		if moment, err = u.liveIn(ctx, slot, since); err != nil || moment != 0 {
			return moment, err
		}
	}
	return 0, nil
}

// liveIn is liveBelow for the assets that refer to the asset in one column.
func (u *undoer) liveIn(ctx context.Context, slot int, since int64) (moment int64, err error) {
	const page = 100
	query := `SELECT id, moment, audit_id FROM asset WHERE ` + u.s.e.layout.Slots[slot].Name + ` = ? AND state < ? AND id > ? ORDER BY id LIMIT ` + strconv.Itoa(page)
	for after := noID; ; {
		n := 0
		err := db.Each(ctx, u.s.tx, query, []any{u.w.id, meta.StateDeleted, after}, func(scan db.Scanner) error {
			var at, audit int64
			n++
			if err := scan.Scan(&after, &at, &audit); err != nil {
				return err
			}
			w := u.loaded.rows[after] // the batch may have deleted or moved it
			if after == u.w.id || u.wasThere(after, at, audit, since) || w != nil && (w.cur.code == meta.StateDeleted || w.cur.Slots[slot] != any(u.w.id)) {
				return nil
			}
			moment = at
			return nil
		})
		if err != nil || moment != 0 || n < page {
			return moment, err
		}
		if err := u.proceed(ctx); err != nil {
			return 0, err
		}
	}
}

// state takes back a change of AssetState, such as a deletion.
func (u *undoer) state(ctx context.Context) error {
	st := u.past.state
	switch {
	case st.was == st.left || u.w.cur.code == st.was:
		return nil
	case st.broken || u.w.cur.code != st.left:
		u.conflict(nil, st.since).state = true
		return nil
	case st.was == meta.StateDeleted:
		return u.remove(ctx, st.since)
	}
	if st.left == meta.StateDeleted {
		if op, ok := u.w.typ.Op("Undelete"); ok {
			if err := u.rules.checkOperation(ctx, u.w, op); err != nil {
				return err
			}
		}
		u.operations.claimUsername(u.w, st.was)
	}
	u.w.cur.partOp = ""
	u.w.setState(st.was)
	u.describeState(st.left, st.was)
	return nil
}

// value gives an attribute the value that it had before.
func (u *undoer) value(ctx context.Context, v *pastValue) error {
	a := v.attr
	now, err := u.now(ctx, a)
	switch {
	case err != nil || now == v.was:
		return err
	case v.broken || now != v.left:
		if a.Kind == meta.Relation && now != nil {
			if t, err := u.seen(ctx, now); err != nil || t == nil {
				u.result.Hidden++
				return err
			}
		}
		u.conflict(a, v.since)
		return nil
	}
	if err := u.rules.checkSealed(ctx, u.w.typ, u.w.id, a); err != nil {
		return err
	}
	if a.Kind == meta.Relation {
		return u.ref(ctx, a, now, v)
	}
	if v.was == nil && a.Required {
		return required(a)
	}
	switch a.Kind {
	case meta.Rank:
		return u.rank(ctx, a, v)
	case meta.Blob:
		u.keepContent(v.was)
	}
	if err := u.set.storeScalar(u.w, a, v.was); err != nil {
		return err
	}
	u.describe(Reverted{Attr: a, Old: now, New: v.was})
	return u.rules.checkKept(u.w, a, now)
}

// now returns the current value of an attribute with one value. For a relation it is the stored id
// of the target. It is nil if there is no value.
func (u *undoer) now(ctx context.Context, a *meta.Attr) (any, error) {
	if a.Place.Kind != meta.InLinks {
		return u.w.get(a), nil
	}
	id, err := u.loaded.pointsTo(ctx, u.w, a)
	if err != nil || id == noID {
		return nil, err
	}
	return id, nil
}

// ref lets a relation refer to the same asset as before. The caller must see both assets: the one
// to which it refers now, and the one before.
func (u *undoer) ref(ctx context.Context, a *meta.Attr, now any, v *pastValue) error {
	old, err := u.seen(ctx, now)
	if err != nil || old == nil && now != nil {
		u.result.Hidden++
		return err
	}
	to, err := u.seen(ctx, v.was)
	if err != nil || to == nil && v.was != nil {
		u.result.Hidden++
		return err
	}
	if gone, err := u.goneSince(ctx, to); err != nil || gone != 0 {
		u.conflict(a, v.since).by = gone
		return err
	}
	if tree := treeOf(u.w.typ, a); tree != "" {
		if err := u.loaded.lockTrees(ctx, map[string]bool{tree: true}); err != nil {
			return err
		}
	}
	if err := u.set.setRef(ctx, u.w, a, to); err != nil {
		return err
	}
	u.describe(Reverted{Attr: a, Old: token(old), New: token(to)})
	return u.rules.checkKept(u.w, a, now)
}

// goneSince returns the moment at which an asset was deleted, if that was since the first of the
// versions that the request takes back. Otherwise it returns 0.
func (u *undoer) goneSince(ctx context.Context, t *target) (moment int64, err error) {
	if t == nil || t.code != meta.StateDeleted || t.row != nil && int64(t.row.cur.moment) <= 0 {
		return 0, nil
	}
	err = u.s.tx.QueryRow(ctx, `SELECT moment FROM asset WHERE id = ?`, t.id).Scan(&moment)
	if moment < u.s.undoSince {
		moment = 0
	}
	return moment, err
}

// seen returns the asset with a stored id, boxed. It returns nil if there is no such asset, or if
// the caller may not see it, also because it is in a deleted project.
func (u *undoer) seen(ctx context.Context, id any) (*target, error) {
	if id == nil {
		return nil, nil
	}
	t, ok, err := u.loaded.find(ctx, id.(int64))
	if err == nil && ok {
		ok, err = u.rules.visible(ctx, t)
	}
	if err != nil || !ok || t.isDeleted() && t.code != meta.StateDeleted && !t.typ.Secured.Self {
		return nil, err
	}
	return &t, nil
}

// token returns the Oid of an asset, or nil.
func token(t *target) any {
	if t == nil {
		return nil
	}
	return oid.OID{Type: t.typ.Name, ID: t.typ.Shown(t.id)}.String()
}

// keepContent makes sure that the bytes of an attachment stay, because the attachment has them
// again.
func (u *undoer) keepContent(reference any) {
	text, _ := reference.(string)
	if ref, ok := blob.ParseRef(text); ok {
		u.changes.contents = append(u.changes.contents, content{ref: ref})
	}
}

// rank gives the asset the rank that it had before. It is a conflict if the assets that were next to
// that rank have moved apart.
func (u *undoer) rank(ctx context.Context, a *meta.Attr, v *pastValue) error {
	was, _ := v.was.(int64)
	place, err := u.formerPlace(ctx, a, was)
	apart, isApart := errors.AsType[apartError](err)
	switch {
	case isApart:
		c := u.conflict(a, v.since)
		if t, err := u.seen(ctx, apart.id); err != nil || t == nil {
			return err
		}
		return u.s.tx.QueryRow(ctx, `SELECT moment FROM asset WHERE id = ?`, apart.id).Scan(&c.by)
	case err != nil:
		return err
	case place == 0:
		u.w.setSlot(a.Place.Slot, was)
	default:
		if u.loaded.several { // the next command needs the new ranks
			return errSplit
		}
		if err := u.set.ranker.placeRank(ctx, u.w, a, place, true); err != nil {
			return err
		}
	}
	u.describe(Reverted{Attr: a, Old: v.left, New: v.was})
	return nil
}

// links takes back the changes of attributes with several values. It removes values before it adds
// others, because a value may have changed only its spelling.
func (u *undoer) links(ctx context.Context) error {
	changed := map[*meta.Attr]*Reverted{}
	for _, adds := range [...]bool{false, true} {
		for i := range u.past.links {
			l := &u.past.links[i]
			if l.was != adds || l.was == l.left {
				continue
			}
			if err := u.proceed(ctx); err != nil {
				return err
			}
			text, err := u.link(ctx, l)
			if err != nil {
				return err
			}
			if text == "" {
				continue
			}
			r := changed[l.attr]
			if r == nil {
				r = &Reverted{Attr: l.attr}
				changed[l.attr] = r
			}
			if adds {
				r.Added = append(r.Added, text)
			} else {
				r.Removed = append(r.Removed, text)
			}
		}
	}
	for _, a := range u.w.typ.Attrs {
		if r := changed[a]; r != nil {
			u.describe(*r)
		}
	}
	return nil
}

// link adds or removes one value. It returns the value as text, or an empty text if nothing has
// changed.
func (u *undoer) link(ctx context.Context, l *pastLink) (string, error) {
	var t *target
	var err error
	text := l.text
	if l.attr.Place.Kind != meta.InValues {
		if t, err = u.seen(ctx, l.other); err != nil || t == nil {
			u.result.Hidden++
			return "", err
		}
		text = token(t).(string)
	}
	has, err := u.has(ctx, l, t)
	switch {
	case err != nil || has == l.was:
		return "", err
	case l.broken: // has differs from was, so has is what the versions left
		u.conflict(l.attr, l.since).by = l.by
		return "", nil
	case l.was:
		if gone, err := u.goneSince(ctx, t); err != nil || gone != 0 {
			u.conflict(l.attr, l.since).by = gone
			return "", err
		}
	}
	if !storedAtOtherEnd(l.attr) {
		if err := u.rules.checkSealed(ctx, u.w.typ, u.w.id, l.attr); err != nil {
			return "", err
		}
	}
	if t == nil {
		return text, u.multi(ctx, l)
	}
	if l.was {
		return text, u.set.addMember(ctx, u.w, l.attr, *t)
	}
	return text, u.set.removeMember(ctx, u.w, l.attr, *t)
}

// has reports whether an attribute has a value now.
func (u *undoer) has(ctx context.Context, l *pastLink, t *target) (bool, error) {
	if t != nil {
		return u.set.isMember(ctx, u.w, l.attr, *t)
	}
	edges, err := u.loaded.edgesFrom(ctx, u.w.typ, u.w.id, edgeCode(l.attr))
	if err != nil {
		return false, err
	}
	e := edges.value(edgeCode(l.attr), l.text)
	return e != nil && e.text == l.text, nil
}

// multi adds or removes one value of a multi-value scalar.
func (u *undoer) multi(ctx context.Context, l *pastLink) error {
	code := edgeCode(l.attr)
	edges, err := u.loaded.edgesFrom(ctx, u.w.typ, u.w.id, code)
	if err != nil {
		return err
	}
	if e := edges.value(code, l.text); e != nil {
		if l.was { // another spelling of the value was added since
			u.conflict(l.attr, l.since).by = int64(e.since)
			return nil
		}
		u.changes.endEdge(e, u.w)
		return nil
	}
	u.changes.addEdge(edges, edge{code: code, from: u.w.id, text: l.text}, u.w)
	return nil
}

func (u *undoer) describe(r Reverted) {
	if u.result.Describe {
		u.result.Changes = append(u.result.Changes, r)
	}
}

func (u *undoer) describeState(from, to int) {
	if a, ok := u.w.typ.Attr("AssetState"); ok {
		u.describe(Reverted{Attr: a, Old: int64(from), New: int64(to)})
	}
}

// checkUndone checks the rights for what an Undo command has changed in the row of its target. For
// the links that it has changed, see checkEdges.
func (g *gate) checkUndone(ctx context.Context, w *row) error {
	if w.before == nil {
		return nil
	}
	if was, now := w.before.code, w.cur.code; was != now {
		verb, name := meta.ToOperate, operationTo(w.typ, now)
		if was == meta.StateDeleted || now == meta.StateDeleted {
			verb, name = meta.ToDelete, ""
		}
		if err := g.require(ctx, w, verb, name); err != nil {
			return err
		}
	}
	changes := false
	for _, a := range g.undoneAttrs(w) {
		if !w.typ.RightDiffers(a.Name) {
			changes = true
		} else if err := g.require(ctx, w, meta.ToChange, a.Name); err != nil {
			return err
		}
	}
	if changes {
		return g.require(ctx, w, meta.ToChange, "")
	}
	if len(g.changes.edges) > g.changes.start.edges {
		return g.require(ctx, w, meta.ToRelate, "")
	}
	return nil
}

// undoneAttrs returns the attributes of w that the current command has changed and that w itself
// stores.
func (g *gate) undoneAttrs(w *row) (all []*meta.Attr) {
	tr := g.s.e.layout.types[w.typ]
	for _, a := range tr.restored {
		if w.before.Get(a) != w.cur.Get(a) {
			all = append(all, a)
		}
	}
	for _, ch := range g.changes.edges[g.changes.start.edges:] {
		if ch.edge.from != w.id {
			continue
		}
		i := slices.IndexFunc(w.typ.Attrs, func(a *meta.Attr) bool {
			return (a.Place.Kind == meta.InLinks || a.Place.Kind == meta.InValues) && edgeCode(a) == ch.edge.code
		})
		if i >= 0 && !slices.Contains(all, w.typ.Attrs[i]) {
			all = append(all, w.typ.Attrs[i])
		}
	}
	return all
}

// operationTo returns the name of an operation that leads to a state, or an empty text.
func operationTo(t *meta.Type, state int) string {
	for _, op := range t.Ops {
		if op.Effect.To == state && op.Effect.Code == "" {
			return op.Name
		}
	}
	return ""
}
