package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// MaxBatch bounds how many commands are held in memory between two writes.
const MaxBatch = 5000

// errSplit says that the commands of a stretch reach more assets than are held
// in memory at once.
var errSplit = fault.Transientf(nil, "the commands reach too many assets at once")

// deletion is how the life of a deleted asset ended: its last version that was
// not deleted, and the first of those that are.
type deletion struct {
	state           int   // before
	lastLive, since int64 // moments of the two versions
	audit           int64 // of the deletion
}

// deletedWith reports whether a part was deleted with its owner: by the same
// command, so in the same request and at a later moment, and not brought back
// since. Deleted on its own before, it has an earlier moment; brought back and
// deleted again, it lived at a later one.
func (e *deletion) deletedWith(owner *deletion) bool {
	return e != nil && owner != nil && e.audit == owner.audit && e.lastLive < owner.since && owner.since < e.since
}

// loadDeletions reads how assets were deleted that are.
func (l *loaded) loadDeletions(ctx context.Context, ids []int64) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
		_, known := l.deletions[id]
		return known
	})
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		for _, id := range ids[:n] {
			l.deletions[id] = nil
		}
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		rows, err := l.s.tx.Query(ctx, `SELECT v.id, v.state, v.moment, d.moment, d.audit_id FROM asset_version v`+
			` JOIN asset_version d ON d.id = v.id AND d.moment = v.until_moment`+
			` WHERE v.id IN `+in+` AND v.state < ? AND d.state = ?`, append(args, stateDeleted, stateDeleted)...)
		if err != nil {
			return fmt.Errorf("load deletions: %w", err)
		}
		err = each(rows, func() error {
			var id int64
			e := &deletion{}
			if err := rows.Scan(&id, &e.state, &e.lastLive, &e.since, &e.audit); err != nil {
				return err
			}
			if old := l.deletions[id]; old == nil || old.since < e.since {
				l.deletions[id] = e
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("load deletions: %w", err)
		}
	}
	return nil
}

// loadParts locks and loads what belongs to assets on which operations run that
// reach it; more than one command reaches no more than a stretch holds.
func (l *loaded) loadParts(ctx context.Context, owners []int64, several bool) error {
	owners = slices.DeleteFunc(slices.Clone(owners), func(id int64) bool {
		done := l.partsLoaded[id] || l.rows[id] != nil && l.rows[id].isNew
		l.partsLoaded[id] = true
		return done
	})
	var pairs []dependency
	for len(owners) > 0 {
		n := min(len(owners), db.MaxIn)
		for _, p := range l.s.e.layout.parts {
			found, err := l.partsBy(ctx, p, owners[:n])
			if err != nil {
				return fmt.Errorf("load what belongs: %w", err)
			}
			pairs = append(pairs, found...)
		}
		owners = owners[n:]
		switch {
		case several && len(pairs) > MaxBatch:
			return errSplit
		case l.s.e.MaxAssets > 0 && len(pairs) > l.s.e.MaxAssets:
			l.overLimit = true
			return TooManyAssets(l.s.e.MaxAssets)
		}
	}
	ids := make([]int64, len(pairs))
	for i, p := range pairs {
		ids[i] = p.dependent
	}
	if err := l.loadRows(ctx, slices.DeleteFunc(ids, func(id int64) bool { return l.rows[id] != nil })); err != nil {
		return err
	}
	for _, p := range pairs {
		if f := l.rows[p.dependent]; f != nil {
			l.parts[p.source] = append(l.parts[p.source], f)
		}
	}
	return nil
}

// partsBy finds what belongs to owners by one rule, in id order.
func (l *loaded) partsBy(ctx context.Context, p partRule, owners []int64) ([]dependency, error) {
	in, args := db.InArgs(owners)
	at := p.relation.Place
	query := `SELECT ` + at.Column + `, id FROM asset WHERE ` + at.Column + ` IN ` + in + ` AND type = ? ORDER BY id`
	args = append(args, p.part.Code)
	if at.Kind == meta.InLinks {
		query = `SELECT to_id, from_id FROM asset_link WHERE to_id IN ` + in + ` AND from_type = ? AND relation = ? AND until_moment = ? ORDER BY from_id`
		args = append(args, at.Code, forever)
	}
	rows, err := l.s.tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var all []dependency
	err = each(rows, func() error { return scanDependency(rows, &all) })
	return all, err
}

// deletedParts returns those of the loaded parts of owners that are deleted.
func (l *loaded) deletedParts(owners []int64) []int64 {
	var ids []int64
	for _, id := range owners {
		for _, f := range l.parts[id] {
			if f.cur.code == stateDeleted && !f.isNew {
				ids = append(ids, f.id)
			}
		}
	}
	return ids
}

// notePart notes that an asset has come to belong to another.
func (l *loaded) notePart(w *row, a *meta.Attr, to int64) {
	if p := w.typ.PartOf; p.Relation == a.Name {
		l.parts[to] = append(l.parts[to], w)
	}
}
