package find

import (
	"context"

	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
)

// Piece is the number of bytes of an answer that are buffered before they are flushed. A flushed
// piece is longer by at most one row.
const Piece = 256 << 10

// Flush sends the buffered bytes of an answer and returns the buffer for the next bytes. An
// error ends the read.
type Flush func(w []byte) ([]byte, error)

// Into returns a Finder for one answer, which may come from several queries. MaxAnswer limits the
// bytes of all these queries together. The Finder flushes what it appends in pieces, also in the
// middle of a long row. The last piece is returned. Groups are one piece, because they are
// collected before the first group is written. If flush is nil, the answer is returned whole.
func (f *Finder) Into(flush Flush) *Finder {
	g := *f
	g.out = &output{limit: f.MaxAnswer, flush: flush}
	return &g
}

// Bounded reports whether r itself limits its number of rows, by a small page or by naming one
// asset.
func Bounded(r query.Request) bool {
	if r.History || r.AsOf.Text == query.AllVersions {
		return isSmall(r.Page)
	}
	_, err := oid.Parse(r.From.Text)
	return err == nil || isSmall(r.Page)
}

// list appends all rows with a separator between them and flushes them to sink.
func (x *executor) list(ctx context.Context, w []byte, sink *encode.Sink, separator string, one func([]byte, *encode.Set, int32) []byte) ([]byte, error) {
	first := true
	err := x.each(ctx, func(s *encode.Set, row int32) (err error) {
		if !first {
			w = append(w, separator...)
		}
		first = false
		w, err = sink.Flush(one(w, s, row))
		return err
	})
	if err == nil {
		err = x.check(ctx, int64(len(w)))
	}
	return w, err
}

// Check returns an error of r that can be found without reading from the database.
// Errors: as Rows.
func (f *Finder) Check(r query.Request) error {
	b, err := query.Bind(f.m, r)
	if err != nil {
		return err
	}
	when, _, err := mode(b)
	if err == nil {
		_, err = query.NewPlan(b, query.Options{Reader: query.Reader{All: true}, When: when})
	}
	return err
}
