package find

import (
	"github.com/alds-dev/alds/internal/encode"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/query"
)

// Piece is how many bytes of an answer are gathered before they are handed to a
// Flush; a piece is longer by at most one row.
const Piece = 256 << 10

// Flush takes the bytes of an answer that there are so far and returns the
// buffer to append the next ones to. An error ends the reading.
type Flush func(w []byte) ([]byte, error)

// Into returns a Finder for one answer, be it that of several queries: all its
// bytes count for MaxAnswer, and it hands what it appends to flush, piece by
// piece, in the middle of a long row too. What is left in the end is returned as
// ever. Groups are one piece, since they are collected before the first is
// written. With flush nil the answer is kept whole.
func (f *Finder) Into(flush Flush) *Finder {
	g := *f
	g.out = &output{limit: f.MaxAnswer, flush: flush}
	return &g
}

// Bounded reports whether r itself bounds how many rows it has, by a page or
// by naming one asset.
func Bounded(r query.Request) bool {
	if r.History || r.AsOf.Text == "All" {
		return isSmall(r.Page)
	}
	_, err := oid.Parse(r.From.Text)
	return err == nil || isSmall(r.Page)
}

// HasBeside reports whether r asks for something beside its rows, which is
// known only when they have been read.
func HasBeside(r query.Request) bool {
	return r.Total || r.Explain || r.Page != nil && r.Page.After != nil
}

// list appends all rows with commas between them, which sink takes.
func (run *run) list(w []byte, sink *encode.Sink, one func([]byte, *encode.Set, int32) []byte) ([]byte, error) {
	first := true
	err := run.each(func(s *encode.Set, row int32) (err error) {
		if !first {
			w = append(w, ',')
		}
		first = false
		w, err = sink.Take(one(w, s, row))
		return err
	})
	if err == nil {
		err = run.goesOn(int64(len(w)))
	}
	return w, err
}

// Check reports what can be known to be wrong with r without reading anything.
// Errors: as Rows.
func (f *Finder) Check(r query.Request) error {
	b, err := query.Bind(f.m, r)
	if err != nil {
		return err
	}
	when, _, err := mode(b)
	if err == nil {
		_, err = query.NewPlan(b, query.Options{All: true, When: when})
	}
	return err
}
