package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// checkSealed refuses to change an attribute of an asset that others have sealed, as a
// message that was sent. Tags are no content: whoever merges them changes them everywhere.
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

// loadSealed reads which assets others name by the relation that seals them.
func (l *loaded) loadSealed(ctx context.Context, by *meta.Attr, ids []int64) error {
	for _, id := range ids {
		l.sealed[id] = false
	}
	for in, args := range db.InChunks(ids) {
		named, err := db.Column[int64](ctx, l.s.tx, `SELECT DISTINCT to_id FROM asset_link WHERE relation = ? AND until_moment = ? AND to_id IN `+in,
			append([]any{by.Place.Code, db.Forever}, args...)...)
		if err != nil {
			return fmt.Errorf("read what is sealed: %w", err)
		}
		for _, id := range named {
			l.sealed[id] = true
		}
	}
	return nil
}
