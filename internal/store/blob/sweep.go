package blob

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/store/db"
)

// sweepRows is the number of contents that one query of a sweep returns.
const sweepRows = 100

// partRows is the number of parts that one statement deletes.
const partRows = 64

// Sweep removes contents without a version after Grace, and unfinished uploads. It may run in
// several processes at once.
//
// The first statement for a content removes its hash. If a new upload or version of the same bytes
// comes before this statement, Sweep does not remove the content: the upload has changed
// touched_at, or the version has changed kept. If the upload comes after this statement, it does
// not find the content and stores the bytes again.
//
// If a content cannot be removed, Sweep continues with the next content. The next sweep tries
// again.
// Errors: the first error of a removal, with the number of contents that could not be removed.
func (s *Store) Sweep(ctx context.Context) error {
	old := "kept = 0 AND touched_at < " + s.db.Dialect.NowMicros + " - ?"
	var first error
	failures := 0
	for last := ""; ; {
		ids, err := db.Column[string](ctx, s.db, "SELECT id FROM blob_content WHERE "+old+" AND id > ? ORDER BY id LIMIT ?",
			s.grace.Microseconds(), last, sweepRows)
		switch {
		case err != nil, len(ids) == 0 && first == nil:
			return err
		case len(ids) == 0:
			return fmt.Errorf("%d contents cannot be removed, the first: %w", failures, first)
		}
		last = ids[len(ids)-1]
		for _, id := range ids {
			if err := s.removeWhere(ctx, id, old, s.grace.Microseconds()); err != nil {
				if failures++; first == nil {
					first = err
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
}

// removeWhere removes a content if a condition still holds. It removes the hash first, so
// that the content can no longer be found.
func (s *Store) removeWhere(ctx context.Context, id, condition string, args ...any) error {
	var outside int64
	claimed := false
	err := s.db.Small(ctx, func(tx *db.Tx) error {
		done, err := tx.Exec(ctx, "UPDATE blob_content SET hash = NULL, touched_at = -1 WHERE id = ? AND "+condition,
			append([]any{id}, args...)...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		if claimed = n > 0; err != nil || !claimed {
			return err
		}
		return tx.QueryRow(ctx, "SELECT outside FROM blob_content WHERE id = ?", id).Scan(&outside)
	})
	if err != nil || !claimed {
		return err
	}
	return s.remove(ctx, id, outside == 1)
}

// remove removes the bytes of a row without a hash, and then the row. It may run again from
// the start.
func (s *Store) remove(ctx context.Context, id string, outside bool) error {
	if outside {
		if s.bucket == nil {
			return nil // the object stays until a bucket is set again
		}
		if err := s.bucket.Remove(ctx, id); err != nil {
			return unreachable(err)
		}
	}
	for left := true; left; {
		err := s.db.Small(ctx, func(tx *db.Tx) error {
			ns, err := db.Column[int64](ctx, tx, "SELECT n FROM blob_part WHERE content = ? ORDER BY n LIMIT ?", id, partRows)
			if err != nil || len(ns) == 0 {
				left = false
				return err
			}
			_, err = tx.Exec(ctx, "DELETE FROM blob_part WHERE content = ? AND n <= ?", id, ns[len(ns)-1])
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.db.Small(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM blob_content WHERE id = ? AND hash IS NULL", id)
		return err
	})
}
