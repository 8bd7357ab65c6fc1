package trail

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// complete converts the times of unwritten rows to the database's clock. It also sets the project of
// each row whose event concerns an asset.
func (l *Log) complete(ctx context.Context, tx *db.Tx) error {
	now, err := clock(ctx, tx)
	if err != nil {
		return err
	}
	shift := now - l.now().UnixMicro()
	for i := range l.unwritten {
		r := &l.unwritten[i]
		if r.dated {
			continue
		}
		r.dated = true
		if r.at += shift; r.first != 0 {
			r.first += shift
		}
	}
	return l.findProjects(ctx, tx)
}

// findProjects sets the project of each unwritten row that has an asset and no project. It is the
// current project of the asset.
func (l *Log) findProjects(ctx context.Context, tx *db.Tx) error {
	of := map[int64][]*row{}
	var ids []int64
	for i := range l.unwritten {
		r := &l.unwritten[i]
		t, ok := l.model.Type(r.Asset.Type)
		if !ok || r.Project != nil {
			continue
		}
		id := t.Stored(r.Asset.ID)
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], r)
	}
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, tx, `SELECT id, scope_id FROM asset WHERE scope_id IS NOT NULL AND id IN `+in, args, func(found db.Scanner) error {
			var id, scope int64
			err := found.Scan(&id, &scope)
			for _, r := range of[id] {
				r.Project = In(scope)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
