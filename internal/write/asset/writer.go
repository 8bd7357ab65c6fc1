package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// writer writes the changes of a batch. It reads them only, but for the stamp of
// allocated moments. What it writes goes out with the audit, where that comes next.
type writer struct {
	s              *Session
	tx             *db.Tx
	later          db.Execer // for statements whose results nobody needs
	layout         *layout
	changes        *changes
	got            allocation
	at, audit, who any // boxed once for all rows
	events         []trail.Event
}

// moment is the allocated moment for a negative one of the batch.
func (w *writer) moment(moment int64) int64 {
	if moment < 0 {
		return w.got.moment - moment - 1
	}
	return moment
}

// instant is an instant as it is written; that of the batch is boxed already.
func (w *writer) instant(at int64) any {
	if at == batchTime {
		return w.at
	}
	return at
}

// member is a member as it is written; the acting one is boxed already.
func (w *writer) member(id int64) any {
	if id == w.s.who.Member {
		return w.who
	}
	return id
}

// stampVersions replaces the placeholders of every version by the allocated
// moments, Numbers and ranks.
func (w *writer) stampVersions() {
	for _, v := range w.changes.versions {
		v.moment, v.createdMoment, v.until = w.moment(v.moment), w.moment(v.createdMoment), w.moment(v.until)
		tr := w.layout.types[v.row.typ]
		if tr.order >= 0 {
			if n, ok := v.slots[tr.order].(ranked); ok {
				v.slots[tr.order] = rankAt(w.got.first[n.sequence] - 1 + n.nth*rankStep)
			}
		}
		if tr.number >= 0 {
			if n, ok := v.slots[tr.number].(numbered); ok {
				v.slots[tr.number] = numberText(n.typ.NumberPrefix, w.got.first[numberSequence(n.typ)]+n.nth)
			}
		}
	}
}

// stamp notes the instant of the moments, by which a read as of an instant finds them: it
// stands when they do.
func (w *writer) stamp(ctx context.Context) error {
	last := w.got.moment + w.changes.moments - 1
	if _, err := w.later.Exec(ctx, `INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, last, w.got.at); err != nil {
		return fmt.Errorf("stamp moments: %w", err)
	}
	return nil
}

// row appends the columns of a shape, for an asset.
func (w *writer) row(args []any, sh columnSet, a *row, st *state) []any {
	return w.columns(args, sh, a, st, false)
}

// columns is row, and for a version without the texts that have a hash.
func (w *writer) columns(args []any, sh columnSet, a *row, st *state, isVersion bool) []any {
	apart := func(which int) bool { return isVersion && st.hashes[which] != nil }
	args = append(args, a.id, w.layout.types[a.typ].code, int64(st.code), st.moment, w.audit, st.createdMoment,
		w.instant(st.createdAt), w.member(st.createdBy), w.instant(st.changedAt), w.member(st.changedBy))
	for _, slot := range sh.slots {
		v := st.slots[slot]
		if slot == w.layout.description && apart(inDescription) {
			v = nil
		}
		args = append(args, v)
	}
	if sh.attrs {
		args = append(args, textUnless(apart(inAttrs), st.attrs))
	}
	if sh.folded {
		args = append(args, textUnless(apart(inFolded), w.layout.folded(st)))
	}
	for _, which := range sh.hashes {
		args = append(args, st.hashes[which])
	}
	return args
}

// textUnless is the text of a document, nil where it lies apart.
func textUnless(apart bool, as attrs) any {
	if apart {
		return nil
	}
	return as.text()
}

func (w *writer) inserts(ctx context.Context) error {
	sh := w.layout.columnsFilled(len(w.changes.made), func(i int) *state { return w.changes.made[i].cur })
	var args []any
	err := db.InsertN(ctx, w.later, "asset", w.layout.columnsOf(sh, fixedColumns), len(w.changes.made), func(i int) []any {
		args = w.row(args[:0], sh, w.changes.made[i], w.changes.made[i].cur)
		return args
	})
	if err != nil {
		return fmt.Errorf("insert assets: %w", err)
	}
	return nil
}

// updates writes what any of the changed assets has changed, as upserts on
// their ids.
func (w *writer) updates(ctx context.Context) error {
	rows := w.changes.changed
	sh := w.layout.columnsChanged(rows)
	columns, update := w.layout.columnsOf(sh, fixedColumns), w.layout.columnsOf(sh, changingColumns)
	if slices.ContainsFunc(rows, func(a *row) bool { return a.cur.code != a.stored.code }) {
		update = append(update, "state")
	}
	var args []any
	err := db.UpsertN(ctx, w.later, "asset", columns, fixedColumns[:1], update, len(rows), func(i int) []any {
		args = w.row(args[:0], sh, rows[i], rows[i].cur)
		return args
	})
	if err != nil {
		return fmt.Errorf("update assets: %w", err)
	}
	return nil
}

// closings ends the versions that were current before the batch: at the moment
// that the asset has now, or at another where it was changed twice. A single one
// is addressed by its whole key: a range would also lock the next row, which may
// be that of an asset somebody else is writing.
func (w *writer) closings(ctx context.Context) error {
	var ids []int64
	var from int64
	for _, c := range w.changes.closings {
		if until := w.moment(c.until); len(w.changes.closings) == 1 || until != c.row.cur.moment {
			_, err := w.later.Exec(ctx, `UPDATE asset_version SET until_moment = ? WHERE id = ? AND moment = ?`, until, c.row.id, c.row.stored.moment)
			if err != nil {
				return fmt.Errorf("close version: %w", err)
			}
			continue
		}
		if ids = append(ids, c.row.id); len(ids) == 1 {
			from = c.row.stored.moment
		}
		from = min(from, c.row.stored.moment)
	}
	for in, args := range db.InChunks(ids) {
		_, err := w.later.Exec(ctx, `UPDATE asset_version`+w.tx.Dialect().By("PRIMARY")+
			` SET until_moment = (SELECT asset.moment FROM asset WHERE asset.id = asset_version.id)`+
			` WHERE id IN `+in+` AND moment >= ? AND until_moment = ?`, append(args, from, db.Forever)...)
		if err != nil {
			return fmt.Errorf("close versions: %w", err)
		}
	}
	return nil
}

// fewVersions is up to how many versions are sent to a server rather than copied there,
// which costs it a SELECT, where none of them has more than shortText bytes of text.
const (
	fewVersions = 4
	shortText   = 4 << 10
)

// areSent reports whether all versions are sent.
func (w *writer) areSent() bool {
	return !w.layout.prepares && len(w.changes.versions) <= fewVersions && !slices.ContainsFunc(w.changes.versions, func(v *version) bool {
		return v.hashes[inDescription] == nil && len(w.layout.longText(v.state, inDescription)) > shortText ||
			v.hashes[inAttrs] == nil && v.attrs.size() > shortText
	})
}

// versions writes a version of every change. What assets are now is copied in the
// database where it is of many, or where there is no way to it; else it is sent, as what
// they were in between.
func (w *writer) versions(ctx context.Context) error {
	edges := w.edgesAt()
	now := map[int64][]int64{} // ids, by linked
	var sent []*version
	all := w.areSent()
	for _, v := range w.changes.versions {
		if all || v != v.row.latest {
			sent = append(sent, v)
			continue
		}
		linked := linkedOf(v, edges)
		now[linked] = append(now[linked], v.row.id)
	}
	for _, linked := range slices.Sorted(maps.Keys(now)) {
		if err := w.copyVersions(ctx, now[linked], linked); err != nil {
			return fmt.Errorf("insert versions: %w", err)
		}
	}
	sh := w.layout.columnsFilled(len(sent), func(i int) *state { return sent[i].state })
	columns := append(w.layout.columnsOf(sh, fixedColumns), "until_moment", "linked")
	var args []any
	err := db.InsertN(ctx, w.later, "asset_version", columns, len(sent), func(i int) []any {
		args = append(w.columns(args[:0], sh, sent[i].row, sent[i].state, true), sent[i].until, linkedOf(sent[i], edges))
		return args
	})
	if err != nil {
		return fmt.Errorf("insert versions that are sent: %w", err)
	}
	return nil
}

// copyVersions makes what assets are now their current versions.
func (w *writer) copyVersions(ctx context.Context, ids []int64, linked int64) error {
	for in, args := range db.InChunks(ids) {
		_, err := w.later.Exec(ctx, `INSERT INTO asset_version (`+w.layout.copied+`, until_moment, linked) SELECT `+w.layout.copying+`, ?, ?`+
			` FROM asset WHERE id IN `+in, append([]any{db.Forever, linked}, args...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// write allocates the moments, Numbers and ranks of the batch and writes its
// changes.
func (u unit) write(ctx context.Context) error {
	c := u.changes
	if c.moments == 0 {
		return nil
	}
	got, err := u.allocate(ctx)
	if err != nil {
		return err
	}
	w := &writer{s: u.s, tx: u.s.tx, later: u.s.tx.Later(), layout: u.s.e.layout, changes: c, got: got, at: got.at, audit: u.s.audit, who: u.s.who.Member}
	w.stampVersions()
	steps := []func(context.Context) error{
		w.hashTexts, w.stamp, w.credentials, w.contents, w.inserts, w.updates, w.texts, w.closings, w.versions, w.edges, w.scopes, w.hidden, w.roles, w.trail,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if u.s.first == 0 {
		u.s.first = got.moment
	}
	u.s.last = got.moment + c.moments - 1
	return nil
}

// allocate allocates what the changes need. Errors: fault.Invalid where a rank
// space has no ranks left.
func (u unit) allocate(ctx context.Context) (allocation, error) {
	n := demand{moments: u.changes.moments, ranked: u.s.e.layout.ranked, others: make(map[string]int64, len(u.changes.numbers)+len(u.changes.ranks))}
	for t, count := range u.changes.numbers {
		n.others[numberSequence(t)] = count
	}
	for sequence, count := range u.changes.ranks {
		n.others[sequence] = count * rankStep
	}
	got, err := u.s.e.allocator.allocate(ctx, u.s.tx, n)
	for sequence, count := range u.changes.ranks {
		if err == nil && rankAt(got.first[sequence]-1+count*rankStep) > MaxRank {
			err = fault.Invalidf(fault.NoPlace, "the ranks are used up, %s", sequence)
		}
	}
	return got, err
}
