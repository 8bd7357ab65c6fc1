package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// version is a row of asset_version.
type version struct {
	id, moment     int64
	code, state    int
	linked         bool
	apart          bool // it has texts in asset_text
	audit, created int64
}

// step removes what ended with the next versions up to the horizon, in one transaction.
// Of several processes one is at work on them. It reports whether there may be more. codes
// are those of which tables have rows, as far as they were read.
func (p *Pruner) step(ctx context.Context, codes map[string][]int64) (n removed, more bool, err error) {
	err = p.db.Small(ctx, func(tx *db.Tx) error {
		n, more = removed{}, false
		s := &step{p: p, m: p.Model(), tx: tx, n: &n, codes: codes}
		err := tx.QueryRow(ctx, `SELECT value FROM sequence WHERE name = '`+rowPruned+`'`+tx.Dialect().ForUpdate).Scan(&s.from)
		if err != nil {
			return err
		}
		h, err := Of(ctx, tx)
		if err != nil || s.from >= h.Moment {
			return err
		}
		s.horizon, more = h.Moment, true
		return s.run(ctx)
	})
	if err != nil {
		return removed{}, false, fmt.Errorf("remove versions: %w", err)
	}
	return n, more, nil
}

// step is one transaction.
type step struct {
	p       *Pruner
	m       *meta.Model
	tx      *db.Tx
	n       *removed
	from    int64 // what ended up to this moment is gone
	to      int64 // and behind this step
	horizon int64
	full    bool               // there is more to remove up to to
	codes   map[string][]int64 // of which a table has rows
}

func (s *step) run(ctx context.Context) error {
	next, err := s.read(ctx, `moment > ? AND moment <= ? ORDER BY moment LIMIT ?`, s.from, s.horizon, stepVersions)
	if err != nil {
		return err
	}
	if s.to = s.horizon; len(next) == stepVersions {
		s.to = next[len(next)-1].moment
	}
	doomed, err := s.doomed(ctx, next)
	if err != nil {
		return err
	}
	if err := s.edges(ctx, next); err != nil {
		return err
	}
	if err := s.contents(ctx, next, doomed); err != nil {
		return err
	}
	if err := s.remove(ctx, doomed); err != nil {
		return err
	}
	if s.full {
		return nil
	}
	return set(ctx, s.tx, rowPruned, s.to, 0)
}

// read reads versions.
func (s *step) read(ctx context.Context, where string, args ...any) ([]version, error) {
	return db.Collect(ctx, s.tx, `SELECT id, moment, type, state, linked, audit_id, created_moment,`+
		` COALESCE(`+strings.Join(db.HashColumns(), ", ")+`) IS NOT NULL FROM asset_version WHERE `+where, args,
		func(row db.Scanner) (v version, err error) {
			var linked int
			err = row.Scan(&v.id, &v.moment, &v.code, &v.state, &linked, &v.audit, &v.created, &v.apart)
			v.linked = linked != 0
			return v, err
		})
}

// doomed returns the versions that go because of those that followed them.
func (s *step) doomed(ctx context.Context, next []version) ([]version, error) {
	last := map[int64]version{} // of each asset
	for _, v := range next {
		if s.prunable(v) {
			last[v.id] = v
		}
	}
	var ids []int64
	for id := range last {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	in, args := db.InArgs(ids)
	all, err := s.read(ctx, `id IN `+in+` AND moment < ? ORDER BY id, moment DESC`, append(args, s.to)...)
	if err != nil {
		return nil, err
	}
	var doomed []version
	for from, to := 0, 0; from < len(all); from = to {
		for to = from; to < len(all) && all[to].id == all[from].id; to++ {
		}
		doomed = append(doomed, unneeded(last[all[from].id], all[from:to])...)
	}
	if doomed, err = s.withoutComments(ctx, doomed); err != nil {
		return nil, err
	}
	if s.full = len(doomed) > stepRows; s.full {
		doomed = doomed[:stepRows]
	}
	return doomed, nil
}

// prunable reports whether versions of an asset may go: not those of projects, from
// which their tree and its history are derived, nor those of well-known assets, by which
// an upgrade finds what they have ever had.
func (s *step) prunable(v version) bool {
	t, ok := s.m.TypeByCode(v.code)
	return ok && !t.Secured.Self && v.created > 0
}

// unneeded returns of the versions of an asset, the latest first, those before v that
// nothing looks at. What a deleted asset was before is how it comes back, and the versions
// of one that is closed tell since when it is.
func unneeded(v version, all []version) []version {
	all = slices.DeleteFunc(slices.Clone(all), func(o version) bool { return o.moment >= v.moment })
	n := 0
	switch v.state {
	case meta.StateDeleted:
		for n < len(all) && all[n].state == meta.StateDeleted {
			n++
		}
		n = min(n+1, len(all))
	case meta.StateClosed:
		for n < len(all) && all[n].state == meta.StateClosed {
			n++
		}
	}
	return all[n:]
}

// withoutComments leaves the first versions of assets whose write has a comment: it is
// their CreateComment.
func (s *step) withoutComments(ctx context.Context, doomed []version) ([]version, error) {
	var audits []int64
	for _, v := range doomed {
		if v.moment == v.created {
			audits = append(audits, v.audit)
		}
	}
	commented := map[int64]bool{}
	for in, args := range db.InChunks(unique(audits)) {
		ids, err := db.Column[int64](ctx, s.tx, `SELECT id FROM audit WHERE id IN `+in+` AND comment <> ''`, args...)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			commented[id] = true
		}
	}
	return slices.DeleteFunc(doomed, func(v version) bool { return v.moment == v.created && commented[v.audit] }), nil
}

func unique[T cmp.Ordered](list []T) []T {
	slices.Sort(list)
	return slices.Compact(list)
}

// remove deletes versions, their texts that no other version has, and the audits of which
// they were the last.
func (s *step) remove(ctx context.Context, doomed []version) error {
	var audits, apart []int64
	for _, v := range doomed {
		if v.apart {
			apart = append(apart, v.id)
		}
	}
	apart = unique(apart)
	for in, args := range db.InChunks(apart) {
		if _, err := s.tx.Lock(ctx, "asset", "id IN "+in+" ORDER BY id", args...); err != nil {
			return fmt.Errorf("lock assets: %w", err)
		}
	}
	for part := range slices.Chunk(doomed, 100) {
		where, args := "", []any(nil)
		for _, v := range part {
			where += " OR id = ? AND moment = ?"
			args = append(args, v.id, v.moment)
			audits = append(audits, v.audit)
		}
		if _, err := s.tx.Exec(ctx, `DELETE FROM asset_version WHERE `+where[len(" OR "):], args...); err != nil {
			return err
		}
	}
	s.n.versions += len(doomed)
	for part := range slices.Chunk(apart, db.MaxIn) {
		if err := db.RemoveTexts(ctx, s.tx, part); err != nil {
			return fmt.Errorf("remove texts: %w", err)
		}
	}
	for part := range slices.Chunk(unique(audits), 50) {
		if err := s.removeAudits(ctx, part); err != nil {
			return fmt.Errorf("remove audits: %w", err)
		}
	}
	return nil
}

// removeAudits deletes those of some audits that have no version any more. Each is looked
// for by its own moments, which servers find by a key only where they are given.
func (s *step) removeAudits(ctx context.Context, ids []int64) error {
	in, args := db.InArgs(ids)
	var looks []string
	var moments []any
	err := db.Each(ctx, s.tx, `SELECT id, first_moment, last_moment FROM audit WHERE fan_state <> 0 AND last_moment <= ? AND id IN `+in,
		append([]any{s.horizon}, args...), func(row db.Scanner) error {
			var id, first, last int64
			err := row.Scan(&id, &first, &last)
			looks = append(looks, `SELECT * FROM (SELECT audit_id FROM asset_version WHERE moment BETWEEN ? AND ? AND audit_id = ? LIMIT 1) a`+strconv.Itoa(len(looks)))
			moments = append(moments, first, last, id)
			return err
		})
	if err != nil || len(looks) == 0 {
		return err
	}
	needed, err := db.Column[int64](ctx, s.tx, strings.Join(looks, " UNION ALL "), moments...)
	if err != nil {
		return err
	}
	var gone []int64
	for n := 2; n < len(moments); n += 3 {
		if id, ok := moments[n].(int64); ok && !slices.Contains(needed, id) {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	in, args = db.InArgs(gone)
	if _, err := s.tx.Exec(ctx, `DELETE FROM audit WHERE id IN `+in, args...); err != nil {
		return err
	}
	s.n.audits += len(gone)
	return nil
}

// stamps removes some of the stamps before that of the horizon.
func (p *Pruner) stamps(ctx context.Context) (n removed, more bool, err error) {
	h, err := Of(ctx, p.db)
	if err != nil {
		return n, false, err
	}
	old, err := db.Column[int64](ctx, p.db, `SELECT last_moment FROM moment_stamp WHERE last_moment < ? ORDER BY last_moment LIMIT ?`, h.Moment, stepRows)
	if err != nil || len(old) == 0 {
		return n, false, err
	}
	err = p.db.Small(ctx, func(tx *db.Tx) error {
		done, err := tx.Exec(ctx, `DELETE FROM moment_stamp WHERE last_moment BETWEEN ? AND ?`, old[0], old[len(old)-1])
		if err != nil {
			return err
		}
		rows, err := done.RowsAffected()
		n.stamps = int(rows)
		return err
	})
	return n, len(old) == stepRows, err
}
