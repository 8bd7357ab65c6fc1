package blob

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// PartSize is the number of bytes in a row of blob_part; the last row of a content has fewer.
// It must not change, since reads compute the row of a byte from it.
const PartSize = 256 << 10

// ReadMemory is the memory to reserve for a Reader, in bytes: one part, and the driver's
// buffers for the row of the part.
const ReadMemory = 3 * PartSize

// objectPart is the memory, in bytes, that a bucket needs for an object of unknown size. Its
// parts are at least that large.
const objectPart = 5 << 20

// Grace is how long a content without a version is kept. A request that uploads a content and
// then writes a version takes less time.
const Grace = 2 * time.Hour

// Bucket stores objects outside of the database. Every error comes from the bucket.
type Bucket interface {
	// Put stores an object once src has ended. size is its size in bytes; -1: unknown.
	Put(ctx context.Context, key string, src io.Reader, size int64) error
	// Open reads n bytes of an object from an offset.
	Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error)
	// Remove removes an object. It is no error if the object does not exist.
	Remove(ctx context.Context, key string) error
	// Ping reports whether the bucket answers.
	Ping(ctx context.Context) error
}

// Options are the options of New. With the zero value the bytes are in the database.
type Options struct {
	Bucket Bucket        // for new contents; nil: the database
	Grace  time.Duration // 0: the constant Grace
	Log    *slog.Logger  // may be nil
}

// Store keeps contents. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	bucket Bucket
	grace  time.Duration
	log    *slog.Logger
}

// New returns the store of a database.
func New(d *db.DB, o Options) *Store {
	if o.Grace == 0 {
		o.Grace = Grace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{db: d, bucket: o.Bucket, grace: o.Grace, log: o.Log}
}

// Ping reports whether the store outside of the database answers.
// Errors: fault.Transient.
func (s *Store) Ping(ctx context.Context) error {
	if s.bucket == nil {
		return nil
	}
	return unreachable(s.bucket.Ping(ctx))
}

// ErrTooLarge is the error of an upload beyond its limit.
var ErrTooLarge = errors.New("the content is larger than allowed")

// errGone is the error of a content that was removed before a version referred to it.
func errGone() error {
	return fault.Transientf(nil, "the content was removed before it was used; send it again")
}

// unreachable turns an error of the bucket into a fault.
func unreachable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.Transientf(err, "the store of attachments does not answer")
}

// Keep keeps contents permanently, because a version written by tx refers to them.
// Errors: fault.Transient when a content was removed or does not exist.
func (s *Store) Keep(ctx context.Context, tx *db.Tx, refs []Ref) error {
	hashes := make([]string, 0, len(refs))
	for _, r := range refs {
		hashes = append(hashes, r.Hash)
	}
	slices.Sort(hashes) // all transactions lock in the same order
	for _, hash := range slices.Compact(hashes) {
		if err := s.keep(ctx, tx, hash); err != nil {
			return err
		}
	}
	return nil
}

// keep locks the row only if the content is not kept yet, since kept contents are never
// removed.
func (s *Store) keep(ctx context.Context, tx *db.Tx, hash string) error {
	if kept, err := isKept(ctx, tx, hash); err != nil || kept {
		return err
	}
	done, err := tx.Exec(ctx, "UPDATE blob_content SET kept = 1 WHERE hash = ?", hash)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errGone(), err)
	}
	return nil
}

func isKept(ctx context.Context, tx *db.Tx, hash string) (bool, error) {
	var kept int64
	err := tx.QueryRow(ctx, "SELECT kept FROM blob_content WHERE hash = ?", hash).Scan(&kept)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return kept == 1, err
}
