package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// MaxBatch is the greatest number of commands in a batch. It is also the greatest number of parts
// that a batch of several commands may load.
const MaxBatch = 5000

// errSplit reports that the commands of a batch need more assets or text than a batch may
// hold in memory. The batch is then split.
var errSplit = fault.Transientf(nil, "the commands reach too many assets at once")

// loadDeletions reads the last deletion of each deleted asset among ids. It skips assets whose
// deletion is already loaded.
func (l *loaded) loadDeletions(ctx context.Context, ids []int64) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
		d, known := l.deletions[id]
		l.deletions[id] = d
		return known
	})
	for in, args := range db.InChunks(ids) {
		query := `SELECT v.id, v.state, v.moment, d.moment, d.audit_id FROM asset_version v` +
			` JOIN asset_version d ON d.id = v.id AND d.moment = v.until_moment` +
			` WHERE v.id IN ` + in + ` AND v.state < ? AND d.state = ?`
		err := db.Each(ctx, l.s.tx, query, append(args, meta.StateDeleted, meta.StateDeleted), func(scan db.Scanner) error {
			var id int64
			d := &deletion{}
			err := scan.Scan(&id, &d.state, &d.lastLive, &d.since, &d.audit)
			if old := l.deletions[id]; err == nil && (old == nil || old.since < d.since) {
				l.deletions[id] = d
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("load deletions: %w", err)
		}
	}
	return nil
}

// loadParts locks and loads the parts of the owners, for operations that also run on parts.
// several is true if the batch has several commands, so it can be split.
// Errors: errSplit if several commands have more than MaxBatch parts; fault.Invalid with ErrReach
// for more assets than one request may change.
func (l *loaded) loadParts(ctx context.Context, owners []int64, several bool) error {
	owners = slices.DeleteFunc(slices.Clone(owners), func(id int64) bool {
		done := l.partsLoaded[id] || l.rows[id] != nil && l.rows[id].isNew
		l.partsLoaded[id] = true
		return done
	})
	var pairs []dependency
	for in, args := range db.InChunks(owners) {
		for _, p := range l.s.e.layout.parts {
			found, err := l.partsBy(ctx, p, in, args)
			if err != nil {
				return fmt.Errorf("find parts: %w", err)
			}
			pairs = append(pairs, found...)
		}
		if several && len(pairs) > MaxBatch {
			return errSplit
		}
		if err := l.mayReach(len(pairs)); err != nil {
			return err
		}
	}
	return l.loadPairs(ctx, pairs, func(owner int64, part *row) { l.parts[owner] = append(l.parts[owner], part) })
}

// partsBy finds the parts of owners by one rule, in the order of the ids of the parts. The
// parameter in contains the placeholders for the ids of the owners, and the parameter owners
// contains the ids.
func (l *loaded) partsBy(ctx context.Context, p partRule, in string, owners []any) ([]dependency, error) {
	at, args := p.relation.Place, append(slices.Clip(owners), p.part.Code)
	if at.Kind == meta.InLinks {
		return l.dependencies(ctx, `SELECT to_id, from_id FROM asset_link WHERE to_id IN `+in+
			` AND from_type = ? AND relation = ? AND until_moment = ? ORDER BY from_id`, append(args, at.Code, db.Forever)...)
	}
	query := `SELECT ` + at.Column + `, id FROM asset WHERE ` + at.Column + ` IN ` + in + ` AND type = ? ORDER BY id`
	return l.dependencies(ctx, query, args...)
}

// deletedParts returns the ids of the deleted assets among the loaded parts of owners.
func (l *loaded) deletedParts(owners []int64) []int64 {
	var ids []int64
	for _, id := range owners {
		for _, part := range l.parts[id] {
			if part.cur.code == meta.StateDeleted && !part.isNew {
				ids = append(ids, part.id)
			}
		}
	}
	return ids
}

// addPart adds w to the parts of an owner if relation a makes w a part.
func (l *loaded) addPart(w *row, a *meta.Attr, owner int64) {
	if w.typ.PartOf.Relation == a.Name {
		l.parts[owner] = append(l.parts[owner], w)
	}
}
