package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// parts has unused buffers for uploads, of PartSize bytes each.
var parts = sync.Pool{New: func() any { b := make([]byte, PartSize); return &b }}

// Upload stores the bytes of r and returns their reference. The parameter limit is the maximum
// number of bytes. size is the number of bytes in r; -1: unknown until its end. Keep must follow
// within Grace. An upload has two parts in memory at a time, and needs UploadMemory in total. A
// failed upload leaves nothing behind.
// Errors: ErrTooLarge; those of r; fault.Transient.
func (s *Store) Upload(ctx context.Context, r io.Reader, size, limit int64) (Ref, error) {
	if size > limit {
		return Ref{}, ErrTooLarge
	}
	buf := parts.Get().(*[]byte)
	defer parts.Put(buf)
	src := &source{r: io.LimitReader(r, limit+1), limit: limit, size: size}
	n, err := io.ReadFull(src, *buf)
	if err != nil && !ended(err) {
		return Ref{}, err
	}
	first := (*buf)[:n]
	if n < PartSize {
		return s.uploadOne(ctx, first)
	}
	return s.uploadParts(ctx, first, src, size)
}

// UploadMemory returns the memory, in bytes, that an upload needs. known is true if the size of the
// upload is known.
func (s *Store) UploadMemory(known bool) int64 {
	if s.bucket != nil && !known {
		return 2*PartSize + objectPart
	}
	return 2 * PartSize
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// source is a reader of a content. It returns an error if the content exceeds its limit, or does
// not have the announced size.
type source struct {
	r        io.Reader
	n, limit int64
	size     int64 // announced size; -1: unknown
}

// errCutOff is the error of a content whose length differs from the announced size.
var errCutOff = errors.New("the content was cut off")

// Read reads the next bytes. Errors: those of the inner reader, ErrTooLarge, errCutOff.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if s.n += int64(n); s.n > s.limit {
		return 0, ErrTooLarge
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && s.size >= 0 && s.n != s.size {
		err = errCutOff // the sender broke off; this is not the end of the content
	}
	return n, err
}

// uploadOne stores a content that has less than one full part, unless the content is already
// stored.
func (s *Store) uploadOne(ctx context.Context, content []byte) (Ref, error) {
	ref := RefOf(content)
	found, err := s.touch(ctx, ref)
	if err != nil || found {
		return ref, err
	}
	return s.uploadParts(ctx, content, strings.NewReader(""), ref.Size)
}

// uploadParts stores a content under a new id, and sets its hash at the end.
func (s *Store) uploadParts(ctx context.Context, first []byte, rest io.Reader, size int64) (ref Ref, err error) {
	u := s.newUpload(len(first))
	if err := u.begin(ctx); err != nil {
		return Ref{}, err
	}
	sum := sha256.New()
	count := &counter{}
	all := io.TeeReader(io.MultiReader(bytes.NewReader(first), rest), io.MultiWriter(sum, count))
	known := false
	defer func() {
		if err != nil || known {
			s.drop(ctx, u)
		}
	}()
	if err := u.store(ctx, all, size); err != nil {
		return Ref{}, err
	}
	ref = Ref{Hash: hex.EncodeToString(sum.Sum(nil)), Size: count.n}
	known, err = s.finish(ctx, u.id, ref)
	return ref, err
}

// counter counts the bytes written to it.
type counter struct{ n int64 }

// Write counts the bytes of b.
func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// upload is a content that is being stored.
type upload struct {
	s       *Store
	id      string
	outside bool
}

// newID returns an id. Ids sort by time, so new rows come after earlier ones.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		id = uuid.New()
	}
	return strings.ReplaceAll(id.String(), "-", "")
}

// newUpload returns the upload of a content whose first part has n bytes. An empty content is
// only a row, since not every bucket accepts empty objects.
func (s *Store) newUpload(n int) *upload {
	return &upload{s: s, id: newID(), outside: s.bucket != nil && n > 0}
}

// begin records an upload, so that Sweep finds the upload if it never ends.
func (u *upload) begin(ctx context.Context) error {
	return u.s.db.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO blob_content (id, outside, touched_at) VALUES (?, ?, "+tx.Dialect().NowMicros+")", u.id, u.place())
		return err
	})
}

func (u *upload) place() int64 {
	if u.outside {
		return 1
	}
	return 0
}

// store stores bytes until r ends. size is their number; -1: unknown.
func (u *upload) store(ctx context.Context, r io.Reader, size int64) error {
	if u.outside {
		return u.storeOutside(ctx, r, size)
	}
	buf := parts.Get().(*[]byte)
	defer parts.Put(buf)
	for n := 0; ; n++ {
		got, err := io.ReadFull(r, *buf)
		if err != nil && !ended(err) {
			return err
		}
		if got > 0 {
			if err := u.insert(ctx, n, (*buf)[:got]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// storeOutside puts r into the bucket. An error of r is returned unchanged.
func (u *upload) storeOutside(ctx context.Context, r io.Reader, size int64) error {
	kept := &failing{r: r}
	err := u.s.bucket.Put(ctx, u.id, kept, size)
	if kept.err != nil {
		return kept.err
	}
	return unreachable(err)
}

// failing records the error of a reader.
type failing struct {
	r   io.Reader
	err error
}

// Read reads the next bytes.
func (f *failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func (u *upload) insert(ctx context.Context, n int, part []byte) error {
	return u.s.db.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO blob_part (content, n, bytes) VALUES (?, ?, ?)", u.id, n, part)
		return err
	})
}

// touch starts Grace again for an existing content, and reports whether it exists.
func (s *Store) touch(ctx context.Context, ref Ref) (found bool, err error) {
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		found, err = touch(ctx, tx, ref)
		return err
	})
	return found, err
}

func touch(ctx context.Context, tx *db.Tx, ref Ref) (bool, error) {
	done, err := tx.Exec(ctx, "UPDATE blob_content SET touched_at = "+tx.Dialect().NowMicros+" WHERE hash = ?", ref.Hash)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// finish sets the hash of an upload, unless another content already has this hash. Then known is
// true, and the caller drops the upload.
func (s *Store) finish(ctx context.Context, id string, ref Ref) (known bool, err error) {
	for range 3 { // another upload of the same bytes may end at the same time
		err = s.db.Write(ctx, func(tx *db.Tx) error {
			if known, err = touch(ctx, tx, ref); err != nil || known {
				return err
			}
			done, err := tx.Exec(ctx, "UPDATE blob_content SET hash = ?, size = ?, touched_at = "+tx.Dialect().NowMicros+
				" WHERE id = ? AND touched_at >= 0", ref.Hash, ref.Size, id)
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err != nil || n == 0 {
				return errors.Join(errGone(), err)
			}
			return nil
		})
		if fault.KindOf(err) != fault.Conflict {
			return known, err
		}
	}
	return false, fault.Transientf(err, "the same content is being sent by others; try again")
}

// dropTime limits the cleanup of a failed upload; Sweep removes the rest.
const dropTime = 10 * time.Second

// drop removes an upload that failed or is not needed, if the database answers. The upload may
// already have its hash, if the answer to the commit was lost.
func (s *Store) drop(ctx context.Context, u *upload) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	if err := s.removeWhere(ctx, u.id, "kept = 0"); err != nil {
		s.log.Info("an upload that failed is cleared up later", "content", u.id, "err", err)
	}
}
