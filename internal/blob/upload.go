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

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// parts are the buffers of uploads.
var parts = sync.Pool{New: func() any { b := make([]byte, PartSize); return &b }}

// Upload stores what r has, at most limit bytes, and returns its reference. size is
// how many bytes r has, -1: unknown until its end. Keep must follow within Grace.
// Memory holds two parts at a time, with UploadMemory in all. Of an upload that
// fails nothing stays.
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

// UploadMemory returns how many bytes of memory an upload needs whose size is
// known, or not.
func (s *Store) UploadMemory(known bool) int64 {
	if s.bucket != nil && !known {
		return 2*PartSize + objectPart
	}
	return 2 * PartSize
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// source refuses what is longer than its limit, or not as long as announced.
type source struct {
	r        io.Reader
	n, limit int64
	size     int64 // announced; -1: unknown
}

// errCutOff is the error of a content that has another length than was announced.
var errCutOff = errors.New("the content was cut off")

// Read reads. Errors: also ErrTooLarge, errCutOff.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if s.n += int64(n); s.n > s.limit {
		return 0, ErrTooLarge
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) && s.size >= 0 && s.n != s.size {
		err = errCutOff // of a broken sender: not an end
	}
	return n, err
}

// uploadOne stores a content of one part, unless it is there.
func (s *Store) uploadOne(ctx context.Context, content []byte) (Ref, error) {
	ref := RefOf(content)
	found, err := s.touch(ctx, ref)
	if err != nil || found {
		return ref, err
	}
	return s.uploadParts(ctx, content, strings.NewReader(""), ref.Size)
}

// uploadParts stores a content under a new id, and gives it its hash at the end.
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

// Write counts.
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

// newID returns an id whose rows lie behind those of earlier ones.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		id = uuid.New()
	}
	return strings.ReplaceAll(id.String(), "-", "")
}

// newUpload returns the upload of a content that begins with n bytes. One of no bytes
// is a row alone: not every bucket takes an object without any.
func (s *Store) newUpload(n int) *upload {
	return &upload{s: s, id: newID(), outside: s.bucket != nil && n > 0}
}

// begin notes an upload, so that Sweep finds it if it never ends.
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

// store stores bytes until r ends. size is how many, -1: unknown.
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

// storeOutside gives r to the bucket. An error of r is returned as it is.
func (u *upload) storeOutside(ctx context.Context, r io.Reader, size int64) error {
	kept := &failing{r: r}
	err := u.s.bucket.Put(ctx, u.id, kept, size)
	if kept.err != nil {
		return kept.err
	}
	return unreachable(err)
}

// failing keeps the error of a reader.
type failing struct {
	r   io.Reader
	err error
}

// Read reads.
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

// touch gives a content that is there another Grace, and reports whether it is.
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

// finish gives an upload its hash, unless another content has it: then known is
// true, and the upload is to be dropped.
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

// dropTime is how long a failed upload is cleared up; Sweep does what is left.
const dropTime = 10 * time.Second

// drop removes an upload that nobody will use, as far as the database answers. It
// may have got its hash when the answer to the commit was lost.
func (s *Store) drop(ctx context.Context, u *upload) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
	defer cancel()
	if err := s.removeWhere(ctx, u.id, "kept = 0"); err != nil {
		s.log.Info("an upload that failed is cleared up later", "content", u.id, "err", err)
	}
}
