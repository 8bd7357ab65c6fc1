package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// checkSealed returns an error if an attribute may not change because another asset refers to the
// asset (meta.Type.Sealed). For example, a receipt refers to a message that was sent. Tags and
// other values in asset_value may still change, because a merge of tags changes them on all assets.
// Errors: fault.Invalid. Spec: interface 3.2.
func (r *rules) checkSealed(ctx context.Context, t *meta.Type, id int64, a *meta.Attr) error {
	if t.Sealed == nil || a.Place.Kind == meta.InValues {
		return nil
	}
	if _, known := r.loaded.sealed[id]; !known {
		if err := r.loaded.loadSealed(ctx, t.Sealed, []int64{id}); err != nil {
			return err
		}
	}
	if r.loaded.sealed[id] || len(r.changes.withCommitted(nil, t.Sealed.Place.Code, id)) > 0 {
		return readOnly(a)
	}
	return nil
}

// loadSealed finds out which of some assets are the target of a relation of another asset. The
// parameter by is this relation, meta.Type.Sealed of the assets that may be its target.
func (l *loaded) loadSealed(ctx context.Context, by *meta.Attr, ids []int64) error {
	for _, id := range ids {
		l.sealed[id] = false
	}
	for in, args := range db.InChunks(ids) {
		query := `SELECT DISTINCT to_id FROM asset_link WHERE relation = ? AND until_moment = ? AND to_id IN ` + in
		named, err := db.Column[int64](ctx, l.s.tx, query, append([]any{by.Place.Code, db.Forever}, args...)...)
		if err != nil {
			return fmt.Errorf("read sealed assets: %w", err)
		}
		for _, id := range named {
			l.sealed[id] = true
		}
	}
	return nil
}
