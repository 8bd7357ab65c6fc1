package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// Verify reads the bytes of all contents. It calls report for each content whose bytes are missing
// or have another hash, and for parts that belong to no content. The service may run at the same
// time. If report returns an error, Verify returns this error at once.
// Errors: also fault.Transient.
func (s *Store) Verify(ctx context.Context, report func(text string) error) error {
	if err := s.lostParts(ctx, report); err != nil {
		return err
	}
	for last := ""; ; {
		all, err := s.contentsAfter(ctx, last)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, c := range all {
			if err := s.verify(ctx, c, report); err != nil {
				return err
			}
		}
		last = all[len(all)-1].id
	}
}

// lostParts calls report for parts that belong to no content.
func (s *Store) lostParts(ctx context.Context, report func(text string) error) error {
	for last := ""; ; {
		all, err := db.Column[string](ctx, s.db, "SELECT DISTINCT content FROM blob_part WHERE content > ? ORDER BY content LIMIT ?", last, sweepRows)
		if err != nil || len(all) == 0 {
			return err
		}
		in, args := db.InArgs(all)
		known, err := db.Column[string](ctx, s.db, "SELECT id FROM blob_content WHERE id IN "+in, args...)
		if err != nil {
			return err
		}
		for _, id := range all {
			if slices.Contains(known, id) {
				continue
			}
			if err := report("parts of " + id + ", which is no content"); err != nil {
				return err
			}
		}
		last = all[len(all)-1]
	}
}

// contentsAfter returns the next contents in the order of their ids.
func (s *Store) contentsAfter(ctx context.Context, last string) ([]stored, error) {
	return db.Collect(ctx, s.db, "SELECT id, hash, outside, size FROM blob_content WHERE hash IS NOT NULL AND id > ? ORDER BY id LIMIT ?",
		[]any{last, sweepRows}, func(row db.Scanner) (c stored, err error) {
			err = row.Scan(&c.id, &c.hash, &c.outside, &c.size)
			return c, err
		})
}

// stored is a content with its hash.
type stored struct {
	where
	hash string
}

// verify reads and checks one content. It ignores a content that is removed while it reads.
func (s *Store) verify(ctx context.Context, c stored, report func(string) error) error {
	if c.outside && s.bucket == nil {
		return report("content " + c.id + " lies outside of the database, and ALDS_BLOB_URL is not set")
	}
	sum := sha256.New()
	r := &Reader{s: s, ctx: ctx, w: c.where, to: c.size}
	n, err := io.Copy(sum, r)
	err = errors.Join(err, r.Close())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && n == c.size && hex.EncodeToString(sum.Sum(nil)) == c.hash:
		return s.ends(ctx, c, report)
	}
	still, errStill := db.Column[string](ctx, s.db, "SELECT id FROM blob_content WHERE id = ? AND hash = ?", c.id, c.hash)
	switch {
	case errStill != nil || len(still) == 0:
		return errStill
	case err != nil:
		return report(fmt.Sprintf("content %s: byte %d of %d cannot be read: %v", c.id, n, c.size, err))
	}
	return report(fmt.Sprintf("content %s: the bytes have another hash", c.id))
}

// ends calls report if there are parts after the last byte of a content.
func (s *Store) ends(ctx context.Context, c stored, report func(string) error) error {
	if c.outside {
		return nil
	}
	more, err := db.Column[int64](ctx, s.db, "SELECT n FROM blob_part WHERE content = ? AND n >= ?", c.id, (c.size+PartSize-1)/PartSize)
	if err != nil || len(more) == 0 {
		return err
	}
	return report(fmt.Sprintf("content %s of %d bytes has a part %d", c.id, c.size, more[0]))
}
