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

// PartSize is the number of bytes in a row of blob_part; the last row of a content may have fewer.
// PartSize must not change, since reads use it to compute which row has a byte.
const PartSize = 256 << 10

// ReadMemory is the memory to reserve for a Reader, in bytes: one part, and the driver's
// buffers for the row of the part.
const ReadMemory = 3 * PartSize

// objectPart is the size in bytes of a part of an object whose total size is unknown. Such an
// object is sent to the bucket in parts, with one part in memory. A bucket does not accept smaller
// parts.
const objectPart = 5 << 20

// Grace is how long a content without a version is kept. A request that uploads a content and
// then writes a version takes less time.
const Grace = 2 * time.Hour

// Bucket stores objects outside of the database. An error of a method means that the bucket failed.
// An error of Put may also be an error of src.
type Bucket interface {
	// Put stores the bytes of src as an object. The object does not exist before src has ended.
	// size is its size in bytes; -1: unknown.
	Put(ctx context.Context, key string, src io.Reader, size int64) error
	// Open opens an object to read n bytes. The parameter from is the offset of the first of these
	// bytes.
	Open(ctx context.Context, key string, from, n int64) (io.ReadCloser, error)
	// Remove removes an object. It is no error if the object does not exist.
	Remove(ctx context.Context, key string) error
	// Ping returns an error if the bucket does not answer.
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

// Ping returns an error if the store outside of the database does not answer.
// Errors: fault.Transient.
func (s *Store) Ping(ctx context.Context) error {
	if s.bucket == nil {
		return nil
	}
	return unreachable(s.bucket.Ping(ctx))
}

// ErrTooLarge is the error of an upload that has more bytes than its limit.
var ErrTooLarge = errors.New("the content is larger than allowed")

// errGone returns the error for a content that was removed before a version referred to it.
func errGone() error {
	return fault.Transientf(nil, "the content was removed before it was used; send it again")
}

// unreachable converts an error of the bucket to fault.Transient. It does not change the errors of
// an ended context.
func unreachable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.Transientf(err, "the store of attachments does not answer")
}

// Keep keeps contents permanently, because a version written by tx refers to them.
// Errors: fault.Transient if a content was removed or does not exist.
func (s *Store) Keep(ctx context.Context, tx *db.Tx, refs []Ref) error {
	hashes := make([]string, 0, len(refs))
	for _, r := range refs {
		hashes = append(hashes, r.Hash)
	}
	slices.Sort(hashes) // so that all transactions lock in the same order
	for _, hash := range slices.Compact(hashes) {
		if err := s.keep(ctx, tx, hash); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps one content. It locks the row of the content only if the content is not kept yet. A
// kept content needs no lock, since it is never removed.
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
