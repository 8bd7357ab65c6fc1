package seed

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Run adds the well-known assets of the model that a database lacks, at moment 0. It then sets
// attributes that existing well-known assets have never had, and updates the rows that describe the
// model; each is a separate write. It does not undo changes that members have made. A second call
// changes nothing.
func Run(ctx context.Context, d *db.DB, m *meta.Model) error {
	e := asset.New(d, m, nil, nil)
	if err := insertMissing(ctx, e); err != nil {
		return err
	}
	if err := completeInstances(ctx, e); err != nil {
		return err
	}
	return writeMetadata(ctx, e)
}

// insertMissing inserts the well-known assets that have no row. It leaves out list values whose
// name already exists in their list.
func insertMissing(ctx context.Context, e *asset.Engine) error {
	return e.DB().Write(ctx, func(tx *db.Tx) error {
		missing, err := withoutRow(ctx, tx, e.Model().Instances)
		if err != nil {
			return err
		}
		if missing, err = withoutName(ctx, tx, e.Model(), missing); err != nil || len(missing) == 0 {
			return err
		}
		return e.Begin(ctx, tx, missing, nil)
	})
}

// withoutRow returns the instances that have no row yet.
func withoutRow(ctx context.Context, tx *db.Tx, all []meta.Instance) ([]meta.Instance, error) {
	ids := make([]int64, 0, len(all))
	for _, in := range all {
		ids = append(ids, in.Type.Stored(in.ID))
	}
	slices.Sort(ids)
	there := map[int64]bool{}
	for in, args := range db.InChunks(slices.Compact(ids)) {
		found, err := db.Column[int64](ctx, tx, `SELECT id FROM asset WHERE id IN `+in+` ORDER BY id`, args...)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			there[id] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(all), func(in meta.Instance) bool { return there[in.Type.Stored(in.ID)] })
	if len(missing) > 0 {
		db.Missed(tx)
	}
	return missing, nil
}
