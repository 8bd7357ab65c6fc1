package blob

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// doubted is the value of kept for a content that a removed version referred to. A new
// version that refers to it keeps it again. So a check of the existing versions can decide
// about the contents that are still doubted.
const doubted = 2

// doubts is how many doubted contents are decided about together: all assets that hold
// contents are looked through for them.
const doubts = 5000

// Doubt marks contents, by their hashes, to which a version refers that tx removes.
func (s *Store) Doubt(ctx context.Context, tx *db.Tx, hashes []string) error {
	for in, args := range db.InChunks(hashes) {
		if _, err := tx.Exec(ctx, "UPDATE blob_content SET kept = ?, touched_at = "+tx.Dialect().NowMicros+" WHERE kept IN (1, ?) AND hash IN "+in,
			append([]any{doubted, doubted}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// Doubted returns the hashes of some contents that have been doubted for longer than Grace:
// a write that found them kept before has ended, so that its version is seen. before is the
// instant before which they were doubted, in microseconds.
func (s *Store) Doubted(ctx context.Context) (hashes []string, before int64, err error) {
	err = s.db.QueryRow(ctx, "SELECT "+s.db.Dialect.NowMicros+" - ?", s.grace.Microseconds()).Scan(&before)
	if err != nil {
		return nil, 0, err
	}
	hashes, err = db.Column[string](ctx, s.db, "SELECT hash FROM blob_content WHERE kept = ? AND touched_at < ? ORDER BY hash LIMIT ?", doubted, before, doubts)
	return hashes, before, err
}

// Settle keeps doubted contents that a version holds, and leaves the others to Sweep,
// which removes them when Grace is over. Those that have been doubted again since an
// instant are not decided about: who held them may be gone.
func (s *Store) Settle(ctx context.Context, before int64, held, others []string) error {
	return s.db.Small(ctx, func(tx *db.Tx) error {
		for in, args := range db.InChunks(held) {
			if _, err := tx.Exec(ctx, "UPDATE blob_content SET kept = 1 WHERE kept = ? AND touched_at < ? AND hash IN "+in, append([]any{doubted, before}, args...)...); err != nil {
				return err
			}
		}
		for in, args := range db.InChunks(others) {
			if _, err := tx.Exec(ctx, "UPDATE blob_content SET kept = 0, touched_at = "+s.db.Dialect.NowMicros+" WHERE kept = ? AND touched_at < ? AND hash IN "+in,
				append([]any{doubted, before}, args...)...); err != nil {
				return err
			}
		}
		return nil
	})
}
