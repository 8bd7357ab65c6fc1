package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	apart          bool // some of the version's texts are in asset_text
	audit, created int64
}

// step reads the next versions up to the horizon, and removes the rows that ended when these
// versions began. It does so in one transaction. A lock ensures that only one process runs it at a
// time. step reports whether there may be more to remove. codes is a cache: for each table, the
// codes that have rows.
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

// step has the state of one transaction.
type step struct {
	p       *Pruner
	m       *meta.Model
	tx      *db.Tx
	n       *removed
	from    int64 // earlier steps have removed the rows that ended up to this moment
	to      int64 // this step removes the rows that ended up to this moment
	horizon int64
	full    bool               // true: there are more rows to remove than one step removes
	codes   map[string][]int64 // codes that have rows, by table
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

// read returns the versions that match a condition.
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

// doomed returns the versions to remove. They are older than the last version of their asset in next,
// and nothing needs them any more. It sets s.full if it leaves some of them for the next step.
func (s *step) doomed(ctx context.Context, next []version) ([]version, error) {
	last := map[int64]version{} // the last version of each asset in next
	for _, v := range next {
		if s.prunable(v) {
			last[v.id] = v
		}
	}
	ids := slices.Sorted(maps.Keys(last))
	if len(ids) == 0 {
		return nil, nil
	}
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

// prunable reports whether versions of the asset of v may be removed. Versions of projects stay,
// because the project tree and its history are derived from them. Versions of well-known assets
// stay, because an upgrade reads all values that these assets ever had.
func (s *step) prunable(v version) bool {
	t, ok := s.m.TypeByCode(v.code)
	return ok && !t.Secured.Self && v.created > 0
}

// unneeded returns the versions before v that nothing needs. all are versions of one asset, the
// latest first.
//
// If the asset is deleted, its last version before the deletion stays, because Undelete restores it.
// If the asset is closed, its closed versions stay, because they show when it was closed and by whom.
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

// withoutComments returns doomed without the first versions of assets that were created by a write
// with a comment. This comment is the CreateComment of the asset.
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

// remove deletes versions. It also deletes texts to which no other version refers, and audits that
// have no other version.
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

// removeAudits deletes the audits that have no version any more. It queries the versions of each
// audit by the moments of the audit: with moments as arguments, servers use the index of the
// moments.
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

// stamps removes some of the stamps before the stamp of the horizon. It reports whether there may be
// more.
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
