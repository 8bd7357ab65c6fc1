package blob

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// doubted is the value of the column kept for a content to which a removed version referred. If a
// new version refers to the content, kept becomes 1 again. A search of the existing versions
// decides about all contents that stay doubted.
const doubted = 2

// doubts is the maximum number of doubted contents in one search. Each search reads all assets
// that may have contents, so it is for many contents at once.
const doubts = 5000

// Doubt marks the contents with these hashes as doubted, because tx removes a version that refers
// to them.
func (s *Store) Doubt(ctx context.Context, tx *db.Tx, hashes []string) error {
	for in, args := range db.InChunks(hashes) {
		if _, err := tx.Exec(ctx, "UPDATE blob_content SET kept = ?, touched_at = "+tx.Dialect().NowMicros+" WHERE kept IN (1, ?) AND hash IN "+in,
			append([]any{doubted, doubted}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// Doubted returns the hashes of some contents that have been doubted for longer than Grace. A
// write that has found one of them kept before the doubt has ended by then, so a search finds its
// version. before is the time before which all of them were doubted, in UTC microseconds.
func (s *Store) Doubted(ctx context.Context) (hashes []string, before int64, err error) {
	err = s.db.QueryRow(ctx, "SELECT "+s.db.Dialect.NowMicros+" - ?", s.grace.Microseconds()).Scan(&before)
	if err != nil {
		return nil, 0, err
	}
	hashes, err = db.Column[string](ctx, s.db, "SELECT hash FROM blob_content WHERE kept = ? AND touched_at < ? ORDER BY hash LIMIT ?", doubted, before, doubts)
	return hashes, before, err
}

// Settle keeps the doubted contents in held, to which a version refers. It gives the contents in
// others to Sweep, which removes them after Grace. It skips a content that was doubted again since
// before, because the version that referred to it may have been removed.
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
