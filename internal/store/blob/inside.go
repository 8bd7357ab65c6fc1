package blob

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// KeepAll stores and keeps contents in the transaction of the versions that refer to them. After a
// rollback the rows of the contents do not exist. An object that was already put into a bucket
// stays there unused.
// Errors: fault.Transient.
func (s *Store) KeepAll(ctx context.Context, tx *db.Tx, contents map[Ref][]byte) error {
	refs := slices.SortedFunc(maps.Keys(contents), func(a, b Ref) int { return bytes.Compare([]byte(a.Hash), []byte(b.Hash)) })
	for _, ref := range refs {
		if err := s.keepContent(ctx, tx, ref, contents[ref]); err != nil {
			return err
		}
	}
	return nil
}

// keepContent stores and keeps one content. It first inserts the row of the content. If two
// transactions store the same bytes, the second one waits at this insert until the first one ends.
func (s *Store) keepContent(ctx context.Context, tx *db.Tx, ref Ref, content []byte) error {
	if kept, err := isKept(ctx, tx, ref.Hash); err != nil || kept {
		return err
	}
	u := s.newUpload(len(content))
	columns := []string{"id", "hash", "size", "outside", "kept", "touched_at"}
	err := db.UpsertN(ctx, tx, "blob_content", columns, []string{"hash"}, []string{"kept"}, 1, func(int) []any {
		return []any{u.id, ref.Hash, ref.Size, u.place(), 1, 0}
	})
	if err != nil {
		return err
	}
	var id string
	if err := tx.QueryRow(ctx, "SELECT id FROM blob_content WHERE hash = ?"+tx.Dialect().ForUpdate, ref.Hash).Scan(&id); err != nil || id != u.id {
		return err
	}
	if u.outside {
		return unreachable(s.bucket.Put(ctx, u.id, bytes.NewReader(content), ref.Size))
	}
	for n, part := range slices.Collect(slices.Chunk(content, PartSize)) {
		if _, err := tx.Exec(ctx, "INSERT INTO blob_part (content, n, bytes) VALUES (?, ?, ?)", u.id, n, part); err != nil {
			return err
		}
	}
	return nil
}
