package attachment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Service finds, reads and stores contents, which are the bytes of attachments and images. It is
// safe for concurrent use.
type Service struct {
	model    *meta.Model
	finder   *find.Finder // returns the reference of a content in place of its bytes
	contents *blob.Store
	limit    int64
}

// New returns the service of a model. limit is the largest size of a content in bytes.
func New(m *meta.Model, f *find.Finder, limit int64) *Service {
	f = f.With(m)
	f.References = true
	return &Service{model: m, finder: f, contents: f.Contents, limit: limit}
}

// File is an asset with a content. ContentType and Name are exactly as members wrote them.
type File struct {
	OID         oid.OID
	Content     blob.Ref // zero if the asset has no content
	ContentType string
	Name        string // the attribute Filename, or Name if Filename is empty; empty for images
}

// row is the JSON object that a query returns for a File.
type row struct {
	Content, ContentType, Filename, Name string
	CanUpdate                            bool
}

// Find returns the asset with an id, if the asset has one of the types and the actor may see it.
// Errors: fault.NotFound.
func (s *Service) Find(ctx context.Context, who auth.Actor, types []string, id string) (File, error) {
	f, _, err := s.find(ctx, who, types, id)
	return f, err
}

// ToChange does the same as Find, and also checks that the actor may change the asset.
// Errors: those of Find; fault.Denied.
func (s *Service) ToChange(ctx context.Context, who auth.Actor, types []string, id string) (File, error) {
	f, mayChange, err := s.find(ctx, who, types, id)
	if err == nil && !mayChange {
		err = asset.MayNotChange(f.OID.Type)
	}
	return f, err
}

func (s *Service) find(ctx context.Context, who auth.Actor, types []string, id string) (f File, mayChange bool, err error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 {
		return File{}, false, notFound()
	}
	for _, name := range types {
		t, ok := s.model.Type(name)
		if !ok {
			continue
		}
		rows, err := s.rows(ctx, who, t, n)
		if err != nil {
			return File{}, false, err
		}
		if len(rows) > 0 {
			return rows[0].file(oid.OID{Type: t.Name, ID: n}), rows[0].CanUpdate, nil
		}
	}
	return File{}, false, notFound()
}

func notFound() error { return fault.NotFoundf("Not Found") }

// rows returns the asset of a type with an id as one row, or no row if the actor may not see the
// asset.
func (s *Service) rows(ctx context.Context, who auth.Actor, t *meta.Type, id int64) (rows []row, err error) {
	r := query.Request{From: text(oid.OID{Type: t.Name, ID: id}.String())}
	for _, name := range []string{"Content", "ContentType", "Filename", "Name", "CanUpdate"} {
		if _, ok := t.Attr(name); ok {
			r.Select = append(r.Select, query.Item{Text: text(name)})
		}
	}
	answer, err := s.finder.Rows(ctx, nil, who, r, nil)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(answer, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("find the content of %s %d: %w", t.Name, id, err)
	}
	return rows, nil
}

func text(s string) query.Text { return query.Text{Text: s, At: fault.NoPlace} }

func (r row) file(o oid.OID) File {
	f := File{OID: o, ContentType: r.ContentType, Name: r.Filename}
	f.Content, _ = blob.ParseRef(r.Content)
	if f.Name == "" {
		f.Name = r.Name
	}
	return f
}

// Limit returns the largest size of a content in bytes.
func (s *Service) Limit() int64 { return s.limit }

// UploadMemory returns how many bytes of memory Upload needs. known is true if the caller knows
// the size of the upload in advance.
func (s *Service) UploadMemory(known bool) int64 { return s.contents.UploadMemory(known) }

// Upload stores the bytes of r. size is the number of bytes, or -1 if the number is unknown until
// r ends.
// Errors: blob.ErrTooLarge; those of r; fault.Transient.
func (s *Service) Upload(ctx context.Context, r io.Reader, size int64) (blob.Ref, error) {
	return s.contents.Upload(ctx, r, size, s.limit)
}

// Open returns a reader of n bytes of a content, beginning at the offset from. Reading fails
// after ctx has ended.
// Errors: fault.Transient.
func (s *Service) Open(ctx context.Context, ref blob.Ref, from, n int64) (io.ReadCloser, error) {
	r, err := s.contents.Open(ctx, ref, from, n)
	if err != nil {
		return nil, err
	}
	return r, nil
}
