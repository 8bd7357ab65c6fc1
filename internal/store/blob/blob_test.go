package blob_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// random returns n random bytes. Two results of a few dozen bytes or more are never equal.
func random(n int) []byte {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b)
	return b
}

func keep(t *testing.T, d *db.DB, s *blob.Store, refs ...blob.Ref) error {
	t.Helper()
	return d.Write(t.Context(), func(tx *db.Tx) error { return s.Keep(t.Context(), tx, refs) })
}

func read(t *testing.T, s *blob.Store, ref blob.Ref, from, n int64) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), ref, from, n)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func count(t *testing.T, d *db.DB, table string) (n int) {
	t.Helper()
	if err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// stores calls test with stores that keep bytes in each database, in a folder, and in a bucket.
// Each store has a separate database. In a common database, a short content of one test might
// already be stored by another test, at another place.
func stores(t *testing.T, grace time.Duration, test func(t *testing.T, d *db.DB, s *blob.Store)) {
	buckets := map[string]func(t *testing.T) blob.Bucket{
		"inside": func(*testing.T) blob.Bucket { return nil },
		"folder": func(t *testing.T) blob.Bucket {
			b, err := blob.OpenBucket("file://" + t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		"s3": func(t *testing.T) blob.Bucket { return startS3(t).open(t) },
	}
	for name, open := range buckets {
		t.Run(name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, d *db.DB) {
				test(t, d, blob.New(d, blob.Options{Grace: grace, Bucket: open(t)}))
			})
		})
	}
}

func TestContentsAreReadAsWritten(t *testing.T) {
	stores(t, 0, func(t *testing.T, d *db.DB, s *blob.Store) {
		for _, n := range []int{0, 1, blob.PartSize - 1, blob.PartSize, blob.PartSize + 1, 3*blob.PartSize + 7} {
			content := random(n)
			ref, err := s.Upload(t.Context(), bytes.NewReader(content), -1, int64(n))
			if err != nil || ref != blob.RefOf(content) {
				t.Fatalf("%d bytes: %v, %v", n, ref, err)
			}
			if n == 0 {
				continue
			}
			if err := keep(t, d, s, ref); err != nil {
				t.Fatal(err)
			}
			for _, span := range [][2]int{{0, n}, {n - 1, 1}, {n / 2, n - n/2}, {0, 1}, {n / 3, n / 3}} {
				from, to := span[0], span[0]+span[1]
				if got := read(t, s, ref, int64(from), int64(span[1])); !bytes.Equal(got, content[from:to]) {
					t.Errorf("%d bytes, %v: %d other bytes", n, span, len(got))
				}
			}
			text, err := s.AppendBase64(t.Context(), d, ref, []byte("x"))
			if err != nil || string(text) != "x"+base64.StdEncoding.EncodeToString(content) {
				t.Errorf("%d bytes: other Base64, %v", n, err)
			}
		}
	})
}

func TestSameBytesAreStoredOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		s := blob.New(d, blob.Options{})
		contents, partsBefore := count(t, d, "blob_content"), count(t, d, "blob_part")
		content := random(2*blob.PartSize + 1)
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				ref, err := s.Upload(t.Context(), bytes.NewReader(content), -1, 1<<30)
				if err == nil {
					err = keep(t, d, s, ref)
				}
				if err == nil {
					err = d.Write(t.Context(), func(tx *db.Tx) error {
						return s.KeepAll(t.Context(), tx, map[blob.Ref][]byte{ref: content})
					})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n, p := count(t, d, "blob_content")-contents, count(t, d, "blob_part")-partsBefore; n != 1 || p != 3 {
			t.Errorf("%d contents of %d parts", n, p)
		}
	})
}

// broken is the sender of an upload. The sender fails after the last byte of r.
type broken struct{ r io.Reader }

var errBroken = errors.New("the sender has gone")

func (b broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = errBroken
	}
	return n, err
}

func TestUploadsThatFailLeaveNothing(t *testing.T) {
	stores(t, 0, func(t *testing.T, d *db.DB, s *blob.Store) {
		contents, partsBefore := count(t, d, "blob_content"), count(t, d, "blob_part")
		for _, n := range []int{10, blob.PartSize + 10, 3 * blob.PartSize} {
			if _, err := s.Upload(t.Context(), broken{bytes.NewReader(random(n))}, -1, 1<<30); !errors.Is(err, errBroken) {
				t.Errorf("%d bytes, broken off: %v", n, err)
			}
			if _, err := s.Upload(t.Context(), bytes.NewReader(random(n)), -1, int64(n-1)); !errors.Is(err, blob.ErrTooLarge) {
				t.Errorf("%d bytes, one too many: %v", n, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := s.Upload(ctx, io.MultiReader(bytes.NewReader(random(n)), readerFunc(func([]byte) (int, error) {
				cancel()
				return 0, ctx.Err()
			})), -1, 1<<30); !errors.Is(err, context.Canceled) {
				t.Errorf("%d bytes, ended: %v", n, err)
			}
		}
		if n, p := count(t, d, "blob_content")-contents, count(t, d, "blob_part")-partsBefore; n != 0 || p != 0 {
			t.Errorf("%d contents of %d parts are left", n, p)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestOnlyWhatNoVersionHoldsIsRemoved(t *testing.T) {
	stores(t, time.Microsecond, func(t *testing.T, d *db.DB, s *blob.Store) {
		before := count(t, d, "blob_content")
		kept, lost := random(blob.PartSize+1), random(blob.PartSize+1)
		for _, content := range [][]byte{kept, lost} {
			if _, err := s.Upload(t.Context(), bytes.NewReader(content), -1, 1<<30); err != nil {
				t.Fatal(err)
			}
		}
		if err := keep(t, d, s, blob.RefOf(kept)); err != nil {
			t.Fatal(err)
		}
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, d, "blob_content") - before; n != 1 {
			t.Errorf("%d contents are left", n)
		}
		if got := read(t, s, blob.RefOf(kept), 0, int64(len(kept))); !bytes.Equal(got, kept) {
			t.Error("what a version holds has changed")
		}
		if err := keep(t, d, s, blob.RefOf(lost)); err == nil {
			t.Error("a content that is gone was kept")
		}
	})
}

// stuck is a bucket that fails to remove one object.
type stuck struct {
	blob.Bucket
	key string
}

var errStuck = errors.New("stuck")

// Remove removes an object. It returns an error for the object with the key s.key.
func (s *stuck) Remove(ctx context.Context, key string) error {
	if key == s.key {
		return errStuck
	}
	return s.Bucket.Remove(ctx, key)
}

// TestASweepGoesOnBehindAFailure checks that a sweep removes all contents except the content whose
// removal fails, and that a later sweep removes this content, too.
func TestASweepGoesOnBehindAFailure(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		b, err := blob.OpenBucket("file://" + t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		bucket := &stuck{Bucket: b}
		s := blob.New(d, blob.Options{Bucket: bucket, Grace: time.Microsecond})
		for range 5 {
			if _, err := s.Upload(t.Context(), bytes.NewReader(random(9)), 9, 9); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.QueryRow(t.Context(), "SELECT MIN(id) FROM blob_content").Scan(&bucket.key); err != nil {
			t.Fatal(err)
		}
		testdb.Tick(t, d)
		if err := s.Sweep(t.Context()); !errors.Is(err, errStuck) {
			t.Errorf("the sweep ends with %v", err)
		}
		if n := count(t, d, "blob_content"); n != 1 {
			t.Errorf("%d contents are left", n)
		}
		bucket.key = ""
		if err := s.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		if n := count(t, d, "blob_content"); n != 0 {
			t.Errorf("%d contents are left at the end", n)
		}
	})
}

// TestSweepAgainstUploads uploads the same bytes while sweeps remove everything that is not
// kept. An upload must end with a complete content, or with an error that asks to send it
// again.
func TestSweepAgainstUploads(t *testing.T) {
	stores(t, time.Microsecond, func(t *testing.T, d *db.DB, s *blob.Store) {
		content := random(blob.PartSize + 1)
		ref := blob.RefOf(content)
		stop := make(chan struct{})
		var sweeps, uploads sync.WaitGroup
		for range 2 {
			sweeps.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := s.Sweep(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		keptOnce := false
		var mu sync.Mutex
		for range 4 {
			uploads.Go(func() {
				for range 6 {
					if _, err := s.Upload(t.Context(), bytes.NewReader(content), -1, 1<<30); err != nil {
						continue
					}
					err := keep(t, d, s, ref)
					mu.Lock()
					keptOnce = keptOnce || err == nil
					mu.Unlock()
				}
			})
		}
		uploads.Wait()
		close(stop)
		sweeps.Wait()
		if !keptOnce {
			if err := d.Write(t.Context(), func(tx *db.Tx) error {
				return s.KeepAll(t.Context(), tx, map[blob.Ref][]byte{ref: content})
			}); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, s, ref, 0, ref.Size); !bytes.Equal(got, content) {
			t.Error("the bytes are not whole")
		}
	})
}

func TestReferencesAreNoBase64(t *testing.T) {
	ref := blob.RefOf([]byte("x"))
	if got, ok := blob.ParseRef(ref.String()); !ok || got != ref {
		t.Errorf("got %v", got)
	}
	for _, text := range []string{"", "YQ==", "sha256:", "sha256:00:1", ref.String() + "x", "sha256:" + ref.Hash + ":-1", "sha256:" + ref.Hash} {
		if _, ok := blob.ParseRef(text); ok {
			t.Errorf("%q is taken for a reference", text)
		}
	}
}

// TestVerify checks that damaged contents are found, and that intact contents are not reported.
func TestVerify(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		folder := t.TempDir()
		bucket, err := blob.OpenBucket("file://" + folder)
		if err != nil {
			t.Fatal(err)
		}
		verify := func(s *blob.Store) string {
			var found strings.Builder
			if err := s.Verify(t.Context(), func(text string) error { _, err := fmt.Fprintln(&found, text); return err }); err != nil {
				t.Fatal(err)
			}
			return found.String()
		}
		inside, outside := blob.New(d, blob.Options{}), blob.New(d, blob.Options{Bucket: bucket})
		for _, s := range []*blob.Store{inside, outside} {
			if _, err := s.Upload(t.Context(), bytes.NewReader(random(2*blob.PartSize)), -1, 1<<30); err != nil {
				t.Fatal(err)
			}
		}
		if found := verify(outside); found != "" {
			t.Errorf("in a sound store: %s", found)
		}
		if found := verify(inside); !strings.Contains(found, "ALDS_BLOB_URL is not set") {
			t.Errorf("without the setting: %q", found)
		}
		exec := func(statement string) {
			write(t, d, func(tx *db.Tx) error { _, err := tx.Exec(t.Context(), statement); return err })
		}
		for _, c := range []struct{ do, want, undo string }{
			{"UPDATE blob_part SET n = 7 WHERE n = 1", "byte 262144 of 524288 cannot be read", "UPDATE blob_part SET n = 1 WHERE n = 7"},
			{"UPDATE blob_content SET size = 9 WHERE outside = 0", "have another hash", "UPDATE blob_content SET size = 524288 WHERE outside = 0"},
			{"INSERT INTO blob_part VALUES ('x', 0, 'a')", "parts of x, which is no content", "DELETE FROM blob_part WHERE content = 'x'"},
			{"INSERT INTO blob_part SELECT id, 2, 'a' FROM blob_content WHERE outside = 0", "has a part 2", "DELETE FROM blob_part WHERE n = 2"},
			{"UPDATE blob_content SET size = 9 WHERE outside = 1", "have another hash", "UPDATE blob_content SET size = 524288 WHERE outside = 1"},
		} {
			exec(c.do)
			if found := verify(outside); !strings.Contains(found, c.want) {
				t.Errorf("%s: %q", c.do, found)
			}
			exec(c.undo)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if found := verify(outside); !strings.Contains(found, "byte 0 of 524288 cannot be read") {
			t.Errorf("without the folder: %q", found)
		}
	})
}

// TestAReaderEndsWithItsContext checks that a reader reads nothing more once its context has
// ended, for example because of lost rights or the time limit.
func TestAReaderEndsWithItsContext(t *testing.T) {
	stores(t, 0, func(t *testing.T, _ *db.DB, s *blob.Store) {
		content := random(4 * blob.PartSize)
		ref, err := s.Upload(t.Context(), bytes.NewReader(content), -1, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r, err := s.Open(ctx, ref, 0, ref.Size)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		cancel()
		n, err := io.Copy(io.Discard, r)
		if !errors.Is(err, context.Canceled) || n > blob.PartSize {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}
