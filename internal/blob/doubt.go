package blob

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
)

// doubted is kept of a content that a removed version held. Whoever writes a version
// that holds it keeps it again, so that a look at the versions that there are decides
// about those that are doubted still.
const doubted = 2

// doubts is how many doubted contents are decided about together.
const doubts = 200

// Doubt marks contents, by their hashes, that a version held which tx removes.
func (s *Store) Doubt(ctx context.Context, tx *db.Tx, hashes []string) error {
	for in, args := range db.InChunks(hashes) {
		if _, err := tx.Exec(ctx, "UPDATE blob_content SET kept = ?, touched_at = "+tx.Dialect().NowMicros+" WHERE kept = 1 AND hash IN "+in,
			append([]any{doubted}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// Doubted returns the hashes of some contents behind a hash, in order, that have been
// doubted for longer than Grace: a write that found them kept before has ended, so that
// its version is seen.
func (s *Store) Doubted(ctx context.Context, behind string) ([]string, error) {
	return db.Column[string](ctx, s.db, "SELECT hash FROM blob_content WHERE kept = ? AND touched_at < "+s.db.Dialect.NowMicros+
		" - ? AND hash > ? ORDER BY hash LIMIT ?", doubted, s.grace.Microseconds(), behind, doubts)
}

// Settle keeps doubted contents that a version holds, and leaves the others to Sweep,
// which removes them when Grace is over.
func (s *Store) Settle(ctx context.Context, held, others []string) error {
	return s.db.Small(ctx, func(tx *db.Tx) error {
		for in, args := range db.InChunks(held) {
			if _, err := tx.Exec(ctx, "UPDATE blob_content SET kept = 1 WHERE kept = ? AND hash IN "+in, append([]any{doubted}, args...)...); err != nil {
				return err
			}
		}
		for in, args := range db.InChunks(others) {
			if _, err := tx.Exec(ctx, "UPDATE blob_content SET kept = 0, touched_at = "+s.db.Dialect.NowMicros+" WHERE kept = ? AND hash IN "+in,
				append([]any{doubted}, args...)...); err != nil {
				return err
			}
		}
		return nil
	})
}
