package blob_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// s3Server is an S3 service with a bucket.
type s3Server struct {
	url      string
	backend  gofakes3.Backend
	broken   atomic.Bool  // it answers every request with 403
	requests atomic.Int64 // number of answered requests
}

func startS3(t *testing.T) *s3Server {
	t.Helper()
	s := &s3Server{backend: s3mem.New()}
	if err := s.backend.CreateBucket("alds-test"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(s.backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.broken.Load() {
			http.Error(w, "down", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "alds")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-"+rand.Text())
	s.url = "s3://alds-test?region=eu-central-1&prefix=a/&endpoint=" + server.URL
	return s
}

func (s *s3Server) open(t *testing.T) blob.Bucket {
	t.Helper()
	b, err := blob.OpenBucket(s.url)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// objects returns the number of objects in the bucket.
func (s *s3Server) objects(t *testing.T) int {
	t.Helper()
	list, err := s.backend.ListBucket("alds-test", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		if !strings.HasPrefix(o.Key, "a/") {
			t.Errorf("an object %s", o.Key)
		}
	}
	return len(list.Contents)
}

// TestObjects checks that an object is read as it was written, whether its size was known or
// not, and that nothing remains of an interrupted upload.
func TestObjects(t *testing.T) {
	s := startS3(t)
	b := s.open(t)
	if err := b.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 5 << 20, 5<<20 + 1, 11 << 20} {
		content := random(n)
		for _, size := range []int64{int64(n), -1} {
			if err := b.Put(t.Context(), "k", bytes.NewReader(content), size); err != nil {
				t.Fatalf("%d bytes, announced %d: %v", n, size, err)
			}
			r, err := b.Open(t.Context(), "k", int64(n/2), int64(n-n/2))
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			_, err = got.ReadFrom(r)
			if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got.Bytes(), content[n/2:]) {
				t.Errorf("%d bytes, announced %d: %d other bytes, %v", n, size, got.Len(), err)
			}
			if err := errors.Join(b.Remove(t.Context(), "k"), b.Remove(t.Context(), "k")); err != nil {
				t.Error(err)
			}
			if err := b.Put(t.Context(), "k", broken{bytes.NewReader(content)}, size+1); err == nil {
				t.Errorf("%d bytes, announced %d: a broken sender is no error", n, size+1)
			}
			if err := b.Put(t.Context(), "k", broken{bytes.NewReader(content)}, -1); !errors.Is(err, errBroken) {
				t.Errorf("%d bytes of a broken sender: %v", n, err)
			}
			if left := s.objects(t); left != 0 {
				t.Errorf("%d bytes, announced %d: %d objects are left", n, size, left)
			}
		}
	}
}

// TestBucketThatFails checks that a failure of the bucket is transient, and that its message
// shows no key.
func TestBucketThatFails(t *testing.T) {
	s := startS3(t)
	d := testdb.SQLite(t)
	store := blob.New(d, blob.Options{Bucket: s.open(t)})
	content := random(blob.PartSize + 1)
	ref, err := store.Upload(t.Context(), bytes.NewReader(content), int64(len(content)), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	s.broken.Store(true)
	if err := store.Ping(t.Context()); err == nil {
		t.Error("it answers")
	}
	if _, err := store.Open(t.Context(), ref, 0, 5); err == nil || strings.Contains(err.Error(), "secret-") {
		t.Errorf("read: %v", err)
	}
	before := count(t, d, "blob_content")
	if _, err := store.Upload(t.Context(), bytes.NewReader(random(9)), 9, 1<<30); err == nil || strings.Contains(err.Error(), "secret-") {
		t.Errorf("write: %v", err)
	}
	s.broken.Store(false)
	if n := count(t, d, "blob_content"); n > before+1 {
		t.Errorf("%d rows more", n-before)
	}
	if got := read(t, store, ref, 0, ref.Size); !bytes.Equal(got, content) {
		t.Error("other bytes")
	}
}

func TestStoresThatAreNone(t *testing.T) {
	for _, address := range []string{
		"http://x", "file:///no/such/parent/folder", "s3://b?endpoint=ftp://x", "s3://b?endpoint=x", "s3://b?endpont=http://x", "s3://b?endpoint=http://x/path", ":",
	} {
		if _, err := blob.OpenBucket(address); err == nil {
			t.Errorf("%s is a store", address)
		}
	}
}
