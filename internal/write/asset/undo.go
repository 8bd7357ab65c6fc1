package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/blob"
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
	since int64      // the last moment at which the versions to take back changed the attribute
	by    int64      // the moment of the change, if it is known; otherwise 0
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
	c := Conflict{Asset: u.w.oid(), attr: a, id: u.w.id, since: since}
	if a != nil {
		c.Attr = a.Name
	}
	u.result.Conflicts = append(u.result.Conflicts, c)
	return &u.result.Conflicts[len(u.result.Conflicts)-1]
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
	var audit int64
	err = u.s.tx.QueryRow(ctx, `SELECT moment, audit_id FROM asset WHERE id = ?`, t.id).Scan(&moment, &audit)
	if moment < u.s.undoSince || audit != u.s.audit && u.s.ownWrite(audit) {
		moment = 0
	}
	return moment, err
}

// seen returns the asset with a stored id; nil is no id. It returns nil if there is no such asset, or if
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
