package blob_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// dying is a sender of an upload. The field left is the number of reads after which it panics. As
// in a killed process, nothing of the upload is cleaned up then.
type dying struct {
	r    io.Reader
	left int
}

func (s *dying) Read(b []byte) (int, error) {
	if s.left == 0 {
		panic("killed")
	}
	s.left--
	return s.r.Read(b[:min(len(b), blob.PartSize)])
}

// upload uploads a content with a sender that dies after a number of reads. It reports whether the
// sender died.
func upload(t *testing.T, s *blob.Store, content []byte, reads int, size int64) (died bool) {
	t.Helper()
	defer func() { died = died || recover() != nil }()
	if _, err := s.Upload(t.Context(), &dying{bytes.NewReader(content), reads}, size, 1<<30); err != nil {
		t.Error(err)
	}
	return false
}

// TestKilledUploads checks uploads and removals that ended because the process was killed. Wherever
// an upload ended, it cannot be read, it blocks no other upload, and a sweep removes it once it is
// old.
func TestKilledUploads(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		bucket, err := blob.OpenBucket("file://" + t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []blob.Bucket{nil, bucket} {
			s := blob.New(d, blob.Options{Bucket: b})
			content := random(3*blob.PartSize + 9)
			died := 0
			for reads := 0; upload(t, s, content, reads, int64(len(content))); reads++ {
				died++
				if err := s.Verify(t.Context(), func(text string) error { return fmt.Errorf("after %d reads: %s", reads, text) }); err != nil {
					t.Error(err)
				}
			}
			if died < 4 {
				t.Errorf("it was killed %d times", died)
			}
			if got := read(t, s, blob.RefOf(content), 0, int64(len(content))); !bytes.Equal(got, content) {
				t.Error("other bytes")
			}
			write(t, d, func(tx *db.Tx) error { // the state after a sweep that was killed after it had removed one part
				if _, err := tx.Exec(t.Context(), "UPDATE blob_content SET hash = NULL, touched_at = -1 WHERE hash IS NOT NULL"); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), "DELETE FROM blob_part WHERE n = 0")
				return err
			})
			if err := keep(t, d, s, blob.RefOf(content)); err == nil {
				t.Error("a content that is being removed was kept")
			}
			testdb.Tick(t, d)
			if err := blob.New(d, blob.Options{Bucket: b, Grace: time.Microsecond}).Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n, p := count(t, d, "blob_content"), count(t, d, "blob_part"); n != 0 || p != 0 {
				t.Errorf("%d contents of %d parts are left", n, p)
			}
		}
	})
}

// TestUploadsInProgressStay checks that a sweep removes nothing of a running upload.
func TestUploadsInProgressStay(t *testing.T) {
	stores(t, 0, func(t *testing.T, _ *db.DB, s *blob.Store) {
		content := random(2*blob.PartSize + 1)
		swept := io.MultiReader(bytes.NewReader(content[:blob.PartSize+1]), readerFunc(func([]byte) (int, error) {
			if err := s.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
			return 0, io.EOF
		}), bytes.NewReader(content[blob.PartSize+1:]))
		ref, err := s.Upload(t.Context(), swept, int64(len(content)), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, s, ref, 0, ref.Size); !bytes.Equal(got, content) {
			t.Error("other bytes")
		}
	})
}

// TestLyingSenders checks that a content whose length differs from the announced size is refused.
func TestLyingSenders(t *testing.T) {
	stores(t, 0, func(t *testing.T, d *db.DB, s *blob.Store) {
		before := count(t, d, "blob_content")
		for _, n := range []int{5, blob.PartSize + 5} {
			for _, size := range []int{n - 1, n + 1} {
				if _, err := s.Upload(t.Context(), strings.NewReader(strings.Repeat("x", n)), int64(size), 1<<30); err == nil {
					t.Errorf("%d bytes, announced as %d", n, size)
				}
			}
		}
		if n := count(t, d, "blob_content") - before; n != 0 {
			t.Errorf("%d contents are left", n)
		}
	})
}
