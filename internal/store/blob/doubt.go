package blob

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// doubted is a value of the column blob_content.kept. It means that the content may be unused,
// because a version that referred to it was removed. If a new version refers to the content, the
// value becomes 1 again. Otherwise a search for versions that refer to the content decides whether
// the content is kept.
const doubted = 2

// doubts is the maximum number of doubted contents in one search. Each search reads all assets that
// may have contents, so one search is for many contents.
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

// Doubted returns the hashes of some contents that have been doubted for longer than Grace. Shortly
// before such a content was doubted, a write may have found that it was kept. This write has ended
// by now, so a search finds its version. The result before is a time in UTC microseconds: all these
// contents were doubted earlier.
func (s *Store) Doubted(ctx context.Context) (hashes []string, before int64, err error) {
	err = s.db.QueryRow(ctx, "SELECT "+s.db.Dialect.NowMicros+" - ?", s.grace.Microseconds()).Scan(&before)
	if err != nil {
		return nil, 0, err
	}
	hashes, err = db.Column[string](ctx, s.db, "SELECT hash FROM blob_content WHERE kept = ? AND touched_at < ? ORDER BY hash LIMIT ?", doubted, before, doubts)
	return hashes, before, err
}

// Settle ends the doubt about contents. It keeps the contents with the hashes in held, because a
// version refers to each of them. It does not keep the contents with the hashes in others, so Sweep
// removes them after Grace. before is the result of Doubted. Settle skips a content that was
// doubted again after this time, because the version that referred to it may have been removed.
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
