package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/rank"
	"github.com/alds-dev/alds/internal/write/asset/sequence"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// writer writes the changes of a batch. It modifies them only to replace placeholders and to set
// hashes.
type writer struct {
	s              *Session
	tx             *db.Tx
	later          db.Execer // sends statements together with the next statement of tx, without results
	layout         *layout
	changes        *changes
	got            sequence.Allocation
	at, audit, who any           // instant, id of the audit row, and member of the batch; boxed once for all rows
	events         []trail.Event // for the audit trail
}

// moment returns a moment as it is stored.
func (w *writer) moment(m moment) int64 { return int64(m.in(w.got)) }

// instant returns an instant as a statement argument.
func (w *writer) instant(at instant) any {
	if at == batchTime {
		return w.at
	}
	return int64(at)
}

// member returns the stored id of a member as a statement argument. The id of the caller is already
// boxed.
func (w *writer) member(id int64) any {
	if id == w.s.who.Member {
		return w.who
	}
	return id
}

// stampVersions replaces the pending values of every version by the allocated values.
func (w *writer) stampVersions() {
	for _, v := range w.changes.versions {
		v.moment, v.createdMoment, v.until = v.moment.in(w.got), v.createdMoment.in(w.got), v.until.in(w.got)
		places := w.layout.types[v.row.typ]
		for _, slot := range [...]int{places.order, places.number} {
			if slot < 0 {
				continue
			}
			if p, ok := v.Slots[slot].(pending); ok {
				v.Slots[slot] = p.in(w.got)
			}
		}
	}
}

// stamp stores the instant of the moments of the batch, in the same transaction as the moments. A
// query as of an instant uses this row to find the moment of the instant.
func (w *writer) stamp(ctx context.Context) error {
	last := w.got.Moment + w.changes.moments - 1
	_, err := w.later.Exec(ctx, `INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, last, w.got.At)
	if err != nil {
		return fmt.Errorf("stamp moments: %w", err)
	}
	return nil
}

// columns appends the values of the fixed columns and of a set to args, for a row of asset or of
// asset_version.
func (w *writer) columns(args []any, set stored.Set, a *row, st *state, isVersion bool) []any {
	args = append(args, a.id, w.layout.types[a.typ].code, int64(st.code), int64(st.moment), w.audit, int64(st.createdMoment),
		w.instant(st.createdAt), w.member(st.createdBy), w.instant(st.changedAt), w.member(st.changedBy))
	return w.layout.Append(args, set, &st.Values, isVersion)
}

// inserts inserts the rows of the assets that the batch has created.
func (w *writer) inserts(ctx context.Context) error {
	rows := w.changes.made
	set := w.layout.Filled(len(rows), func(i int) *stored.Values { return &rows[i].cur.Values })
	var args []any
	err := db.InsertN(ctx, w.later, "asset", w.layout.Names(set), len(rows), func(i int) []any {
		args = w.columns(args[:0], set, rows[i], rows[i].cur, false)
		return args
	})
	if err != nil {
		return fmt.Errorf("insert assets: %w", err)
	}
	return nil
}

// updates updates the rows of the changed assets with upserts by id. It writes every column that
// at least one of the assets has changed.
func (w *writer) updates(ctx context.Context) error {
	rows := w.changes.changed
	set := w.layout.Changed(len(rows), func(i int) (now, was *stored.Values) {
		return &rows[i].cur.Values, &rows[i].stored.Values
	})
	columns, update := w.layout.Names(set), w.layout.Changing(set)
	if slices.ContainsFunc(rows, func(a *row) bool { return a.cur.code != a.stored.code }) {
		update = append(update, "state")
	}
	var args []any
	err := db.UpsertN(ctx, w.later, "asset", columns, []string{"id"}, update, len(rows), func(i int) []any {
		args = w.columns(args[:0], set, rows[i], rows[i].cur, false)
		return args
	})
	if err != nil {
		return fmt.Errorf("update assets: %w", err)
	}
	return nil
}

// closings ends the versions that were current before the batch. A version ends at the current
// moment of the asset, or at an earlier moment if the batch changed the asset several times. A
// single version is addressed by its whole key. A range would also lock the next row, which may
// belong to an asset that another transaction is writing.
func (w *writer) closings(ctx context.Context) error {
	var ids []int64
	var from int64
	for _, c := range w.changes.closings {
		if until := w.moment(c.until); len(w.changes.closings) == 1 || until != int64(c.row.cur.moment) {
			_, err := w.later.Exec(ctx, `UPDATE asset_version SET until_moment = ? WHERE id = ? AND moment = ?`,
				until, c.row.id, int64(c.row.stored.moment))
			if err != nil {
				return fmt.Errorf("close version: %w", err)
			}
			continue
		}
		if ids = append(ids, c.row.id); len(ids) == 1 {
			from = int64(c.row.stored.moment)
		}
		from = min(from, int64(c.row.stored.moment))
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

// Up to these bounds, all versions are sent to the database server as values. Above them, the server
// copies versions from the table asset, which costs the server a SELECT.
const (
	fewVersions = 4       // versions of the batch
	shortText   = 4 << 10 // bytes of each long text
)

// areSent reports whether all versions of the batch are sent to the database as values.
func (w *writer) areSent() bool {
	isLong := func(v *version) bool { return w.layout.HasLong(&v.Values, shortText) }
	return !w.layout.Prepared() && len(w.changes.versions) <= fewVersions && !slices.ContainsFunc(w.changes.versions, isLong)
}

// versions inserts a version for every change. If areSent is true, it sends all versions as
// values. Otherwise the database copies the last version of each asset from the table asset, and only
// the versions before the last one are sent.
func (w *writer) versions(ctx context.Context) error {
	edges := w.edgesAt()
	copied := map[int64][]int64{} // key: value of linked; value: ids of assets
	var sent []*version
	all := w.areSent()
	for _, v := range w.changes.versions {
		if all || v != v.row.latest {
			sent = append(sent, v)
			continue
		}
		linked := linkedOf(v, edges)
		copied[linked] = append(copied[linked], v.row.id)
	}
	for _, linked := range slices.Sorted(maps.Keys(copied)) {
		if err := w.copyVersions(ctx, copied[linked], linked); err != nil {
			return fmt.Errorf("insert versions: %w", err)
		}
	}

	set := w.layout.Filled(len(sent), func(i int) *stored.Values { return &sent[i].Values })
	columns := append(w.layout.Names(set), "until_moment", "linked")
	var args []any
	err := db.InsertN(ctx, w.later, "asset_version", columns, len(sent), func(i int) []any {
		args = append(w.columns(args[:0], set, sent[i].row, sent[i].state, true), int64(sent[i].until), linkedOf(sent[i], edges))
		return args
	})
	if err != nil {
		return fmt.Errorf("insert versions that are sent: %w", err)
	}
	return nil
}

// copyVersions copies rows of the table asset to asset_version, as the current versions.
func (w *writer) copyVersions(ctx context.Context, ids []int64, linked int64) error {
	columns, expressions := w.layout.Copied()
	for in, args := range db.InChunks(ids) {
		query := `INSERT INTO asset_version (` + columns + `, until_moment, linked)` +
			` SELECT ` + expressions + `, ?, ? FROM asset WHERE id IN ` + in
		_, err := w.later.Exec(ctx, query, append([]any{db.Forever, linked}, args...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// hashTexts sets the hashes of the long texts of all versions.
func (w *writer) hashTexts(context.Context) error {
	for _, v := range w.changes.versions {
		var was *stored.Values
		if v.row.stored != nil {
			was = &v.row.stored.Values
		}
		w.layout.Hash(&v.Values, was, &v.row.latest.Values)
	}
	return nil
}

// texts moves long texts of the changed assets to asset_text.
func (w *writer) texts(ctx context.Context) error {
	changed := w.changes.changed
	assets := make([]stored.Asset, len(changed))
	for i, a := range changed {
		assets[i] = stored.Asset{ID: a.id, Moment: int64(a.stored.moment), Was: &a.stored.Values, Now: &a.cur.Values}
	}
	return w.layout.MoveTexts(ctx, w.tx, assets)
}

// write allocates the moments, Numbers and ranks of the batch, and writes the changes of the
// batch.
func (u unit) write(ctx context.Context) error {
	c := u.changes
	if c.moments == 0 {
		return nil
	}
	got, err := u.allocate(ctx)
	if err != nil {
		return err
	}
	w := &writer{
		s: u.s, tx: u.s.tx, later: u.s.tx.Later(), layout: u.s.e.layout, changes: c,
		got: got, at: got.At, audit: u.s.audit, who: u.s.who.Member,
	}
	w.stampVersions()
	steps := []func(context.Context) error{
		w.hashTexts, w.stamp, w.credentials, w.contents, w.inserts, w.updates, w.texts, w.closings, w.versions,
		w.edges, w.scopes, w.hidden, w.roles, w.trail,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}

	if u.s.first == 0 {
		u.s.first = got.Moment
	}
	u.s.last = got.Moment + c.moments - 1
	u.s.changed += int(c.moments)
	return nil
}

// allocate allocates the moments, Numbers and ranks that the changes need.
// Errors: fault.Invalid if a rank space has no ranks left.
func (u unit) allocate(ctx context.Context) (sequence.Allocation, error) {
	others := make(map[string]int64, len(u.changes.numbers)+len(u.changes.ranks))
	n := sequence.Demand{Moments: u.changes.moments, Ranked: u.s.e.layout.ranked, Others: others}
	for t, count := range u.changes.numbers {
		others[numberSequence(t)] = count
	}
	for name, count := range u.changes.ranks {
		others[name] = count * rank.Step
	}
	got, err := u.s.e.allocator.Allocate(ctx, u.s.tx, n)
	for name, count := range u.changes.ranks {
		if err == nil && rank.Nth(got.First[name], count) > rank.Max {
			err = fault.Invalidf(fault.NoPlace, "the ranks are used up, %s", name)
		}
	}
	return got, err
}
