package asset

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/folding"
)

// write takes the moments, Numbers and ranks of the run and writes what it did.
func (r *run) write(ctx context.Context) error {
	c := r.changes
	if c.moments == 0 {
		return nil
	}
	got, err := r.allocate(ctx)
	if err != nil {
		return err
	}
	w := &writer{s: r.s, tx: r.s.tx, layout: r.e.layout, changes: c, got: got, at: got.at, audit: r.s.audit, who: r.s.who.Member}
	w.stampVersions()
	steps := []func(context.Context) error{
		w.credentials, w.inserts, w.updates, w.closings, w.versions, w.edges, w.scopes, w.hidden, w.roles,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if r.s.first == 0 {
		r.s.first = got.moment
	}
	r.s.last = got.moment + c.moments - 1
	return nil
}

// allocate takes what the run needs. Errors: fault.Invalid where a rank space
// has no ranks left.
func (r *run) allocate(ctx context.Context) (allocation, error) {
	n := demand{moments: r.changes.moments, others: make(map[string]int64, len(r.changes.numbers)+len(r.changes.ranks))}
	for t, count := range r.changes.numbers {
		n.others[numberSequence(t)] = count
	}
	for sequence, count := range r.changes.ranks {
		n.others[sequence] = count * rankStep
	}
	got, err := r.e.allocator.allocate(ctx, r.s.tx, n)
	for sequence, count := range r.changes.ranks {
		if err == nil && rankAt(got.first[sequence]-1+count*rankStep) > MaxRank {
			err = fault.Invalidf(fault.NoPlace, "the ranks are used up, %s", sequence)
		}
	}
	return got, err
}

// writer writes one run, its moments taken.
type writer struct {
	s              *Session
	tx             *db.Tx
	layout         *layout
	changes        *changes
	got            allocation
	at, audit, who any // boxed once for all rows
}

// moment is the moment that a run's negative one stands for.
func (w *writer) moment(moment int64) int64 {
	if moment < 0 {
		return w.got.moment - moment - 1
	}
	return moment
}

// stampVersions gives every version of the run its true moment, Number and rank.
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

// numberText spells a Number: the prefix and at least five digits.
func numberText(prefix string, n int64) string {
	b := append(make([]byte, 0, len(prefix)+8), prefix...)
	for limit := int64(10000); limit > n && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, n, 10))
}

// row appends the columns of a shape.
func (w *writer) row(args []any, sh columnSet, a *row, st *state) []any {
	args = append(args, a.id, w.layout.types[a.typ].code, int64(st.code), st.moment, w.audit, st.createdMoment,
		w.instant(st.createdAt), w.member(st.createdBy), w.instant(st.changedAt), w.member(st.changedBy))
	for _, slot := range sh.slots {
		args = append(args, st.slots[slot])
	}
	if sh.attrs {
		args = append(args, st.attrs.text())
	}
	if sh.folded {
		args = append(args, w.layout.folded(st).text())
	}
	return args
}

func (w *writer) inserts(ctx context.Context) error {
	sh := w.columnsFilled(len(w.changes.made), func(i int) *state { return w.changes.made[i].cur })
	var args []any
	err := db.InsertN(ctx, w.tx, "asset", w.layout.columnsOf(sh, fixedColumns), len(w.changes.made), func(i int) []any {
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
	sh := w.columnsNeeded(len(w.changes.changed), func(i, slot int) bool {
		return w.changes.changed[i].cur.slots[slot] != w.changes.changed[i].stored.slots[slot]
	}, func(i int) bool {
		return !slices.Equal(w.changes.changed[i].cur.attrs, w.changes.changed[i].stored.attrs)
	})
	columns, update := w.layout.columnsOf(sh, fixedColumns), w.layout.columnsOf(sh, changingColumns)
	var args []any
	err := db.UpsertN(ctx, w.tx, "asset", columns, fixedColumns[:1], update, len(w.changes.changed), func(i int) []any {
		args = w.row(args[:0], sh, w.changes.changed[i], w.changes.changed[i].cur)
		return args
	})
	if err != nil {
		return fmt.Errorf("update assets: %w", err)
	}
	return nil
}

// closings ends the versions that were current before the run: at the moment
// that the asset has by now, or at another where it was changed twice. One alone
// is named by its whole key: a range locks the row behind it as well, which may
// be that of an asset somebody else is writing.
func (w *writer) closings(ctx context.Context) error {
	var ids []int64
	var from int64
	for _, c := range w.changes.closings {
		if until := w.moment(c.until); len(w.changes.closings) == 1 || until != c.row.cur.moment {
			_, err := w.tx.Exec(ctx, `UPDATE asset_version SET until_moment = ? WHERE id = ? AND moment = ?`, until, c.row.id, c.row.stored.moment)
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
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		_, err := w.tx.Exec(ctx, `UPDATE asset_version`+w.tx.Dialect().ByPrimary+
			` SET until_moment = (SELECT asset.moment FROM asset WHERE asset.id = asset_version.id)`+
			` WHERE id IN `+in+` AND moment >= ? AND until_moment = ?`, append(args, from, forever)...)
		if err != nil {
			return fmt.Errorf("close versions: %w", err)
		}
	}
	return nil
}

// versions writes a version of every change. What the assets are now is copied
// on the server; only what they were in between is sent.
func (w *writer) versions(ctx context.Context) error {
	var now [2][]int64 // ids, by linked
	var between []*version
	for _, v := range w.changes.versions {
		switch {
		case v != v.row.latest:
			between = append(between, v)
		case v.linked:
			now[1] = append(now[1], v.row.id)
		default:
			now[0] = append(now[0], v.row.id)
		}
	}
	for linked, ids := range now {
		if err := w.copyVersions(ctx, ids, linked); err != nil {
			return fmt.Errorf("insert versions: %w", err)
		}
	}
	sh := w.columnsFilled(len(between), func(i int) *state { return between[i].state })
	columns := append(w.layout.columnsOf(sh, fixedColumns), "until_moment", "linked")
	var args []any
	err := db.InsertN(ctx, w.tx, "asset_version", columns, len(between), func(i int) []any {
		linked := int64(0)
		if between[i].linked {
			linked = 1
		}
		args = append(w.row(args[:0], sh, between[i].row, between[i].state), between[i].until, linked)
		return args
	})
	if err != nil {
		return fmt.Errorf("insert versions in between: %w", err)
	}
	return nil
}

// copyVersions makes what assets are now their current versions.
func (w *writer) copyVersions(ctx context.Context, ids []int64, linked int) error {
	columns := names(w.layout.columns, "") + ", folded"
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		_, err := w.tx.Exec(ctx, `INSERT INTO asset_version (`+columns+`, until_moment, linked) SELECT `+columns+`, ?, ?`+
			` FROM asset WHERE id IN `+in, append([]any{forever, linked}, args...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	linkColumns  = []string{"relation", "from_type", "from_id", "to_id", "since_moment", "until_moment"}
	valueColumns = []string{"attribute", "from_type", "from_id", "folded", "since_moment", "until_moment", "value"}
)

// edges writes the links and values that ended, then those that began.
func (w *writer) edges(ctx context.Context) error {
	var ended, begun [2][]*edge // links, values
	for _, ch := range w.changes.edges {
		e, of := ch.edge, 0
		if e.code < 0 {
			of = 1
		}
		switch {
		case ch.set == nil && e.stored:
			ended[of] = append(ended[of], e)
		case ch.set != nil && e.since != e.until:
			begun[of] = append(begun[of], e)
		}
	}
	for of, columns := range [][]string{linkColumns, valueColumns} {
		table := [...]string{"asset_link", "asset_value"}[of]
		err := db.UpsertN(ctx, w.tx, table, columns, columns[:5], columns[5:6], len(ended[of]), w.edgeRows(ended[of]))
		if err != nil {
			return fmt.Errorf("end rows of %s: %w", table, err)
		}
		if err := db.InsertN(ctx, w.tx, table, columns, len(begun[of]), w.edgeRows(begun[of])); err != nil {
			return fmt.Errorf("begin rows of %s: %w", table, err)
		}
	}
	return nil
}

// edgeRows returns the columns of each edge, in one slice that is used again.
func (w *writer) edgeRows(all []*edge) func(int) []any {
	args := make([]any, 0, len(valueColumns))
	return func(i int) []any {
		e := all[i]
		if e.code > 0 {
			return append(args, int64(e.code), int64(e.fromType), e.from, e.to, w.moment(e.since), w.moment(e.until))
		}
		return append(args, int64(-e.code), int64(e.fromType), e.from, folding.Of(e.text), w.moment(e.since), w.moment(e.until), e.text)
	}
}

// scopes writes the project tree: new projects, then moves, which have to see them.
func (w *writer) scopes(ctx context.Context) error {
	for i := range w.changes.closure {
		w.changes.closure[i].since = w.moment(w.changes.closure[i].since)
	}
	if err := w.writeAncestry(ctx, w.changes.closure); err != nil {
		return err
	}
	for _, row := range w.changes.movedScopes {
		if err := w.writeMove(ctx, row, row.cur.moment); err != nil {
			return err
		}
	}
	return nil
}

var roleColumns = []string{"scope_id", "member_id", "role_id", "is_owner", "since_moment", "until_moment"}

// roles writes who has which role where, in order; roles begun in a row go
// together.
func (w *writer) roles(ctx context.Context) error {
	args := make([]any, len(roleColumns))
	for all := w.changes.roles; len(all) > 0; {
		if all[0].end {
			_, err := w.tx.Exec(ctx, `UPDATE scope_member SET until_moment = ? WHERE scope_id = ? AND member_id = ? AND until_moment = ?`,
				w.moment(all[0].since), all[0].scope, all[0].member, forever)
			if err != nil {
				return fmt.Errorf("end role: %w", err)
			}
			all = all[1:]
			continue
		}
		n := 0
		for n < len(all) && !all[n].end {
			n++
		}
		err := db.InsertN(ctx, w.tx, "scope_member", roleColumns, n, func(i int) []any {
			x := all[i]
			owner := int64(0)
			if x.owner {
				owner = 1
			}
			args[0], args[1], args[2], args[3], args[4], args[5] = x.scope, x.member, x.role, owner, w.moment(x.since), forever
			return args
		})
		if err != nil {
			return fmt.Errorf("begin roles: %w", err)
		}
		all = all[n:]
	}
	return nil
}

// credentials sets logins, all of one member together, in order. They come
// first: they are what the database may refuse.
func (w *writer) credentials(ctx context.Context) error {
	for i := 0; i < len(w.changes.logins); {
		c := w.changes.logins[i]
		for i++; i < len(w.changes.logins) && w.changes.logins[i].member == c.member; i++ {
			if w.changes.logins[i].username != nil {
				c.username = w.changes.logins[i].username
			}
			if w.changes.logins[i].password != nil {
				c.password = w.changes.logins[i].password
			}
		}
		if w.s.e.creds == nil {
			continue
		}
		if err := w.s.e.creds.Set(ctx, w.tx, c.member, c.username, c.password); err != nil {
			return fmt.Errorf("set login of %s: %w", c.typ, err)
		}
	}
	return nil
}
