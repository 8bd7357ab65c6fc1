package encode

import (
	"bytes"

	"github.com/alds-dev/alds/internal/blob"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/value"
)

// Sink receives an answer while it is appended, so that neither all of it nor
// one long row of it needs to lie in memory. A nil Sink receives nothing.
type Sink struct {
	// Full is called when the buffer has Next bytes or more. It returns the
	// buffer to go on with and the Next of it. After an error the rest of the
	// row is left out.
	Full func(w []byte) (rest []byte, next int, err error)
	Next int

	// Content appends the Base64 of a content; nil: its reference is shown.
	Content func(w []byte, ref blob.Ref) ([]byte, error)

	// Words returns what people read for a tag; nil: names that are tags stay tags.
	Words func(tag string) string

	err     error
	flushes int // calls of Full
	cached  int // bytes cached by groups
}

// Err returns the error of Full, if there was one.
func (s *Sink) Err() error {
	if s == nil {
		return nil
	}
	return s.err
}

// Flush calls Full with w when it is long enough. Errors: that of Full, now and
// ever after.
func (s *Sink) Flush(w []byte) ([]byte, error) {
	if s == nil || s.err == nil && len(w) < s.Next {
		return w, nil
	}
	if s.err == nil {
		w, s.Next, s.err = s.Full(w)
		s.flushes++
	}
	return w, s.err
}

// The bytes cached of rows that stand in several places: of one list, and of
// all lists of an answer.
const (
	maxCachedList = 64 << 10
	maxCached     = 8 << 20
)

// cache stores the text of a list that is appended a second time: it begins at
// start of w, when Full had been called flushes times.
func (s *Sink) cache(g *Group, w []byte, start, flushes int) {
	if s == nil {
		return
	}
	n := len(w) - start
	if g.used && s.err == nil && s.flushes == flushes && n > 0 && n <= maxCachedList && s.cached+n <= maxCached {
		g.text = append([]byte(nil), w[start:]...)
		s.cached += n
	}
	g.used = true
}

// flushCount returns how often Full was called.
func (s *Sink) flushCount() int {
	if s == nil {
		return 0
	}
	return s.flushes
}

// contentForm is how a content stands in an answer.
type contentForm struct {
	quote string
	none  string // where the answer has ended already
	text  func(w, s []byte) []byte
}

var (
	jsonContent = contentForm{quote: `"`, none: "null", text: value.AppendString[[]byte]}
	xmlContent  = contentForm{text: value.AppendXML[[]byte]}
)

// content appends a content as Base64, of which v is the reference. An error ends
// the answer as one of Full does.
func (s *Sink) content(w []byte, v value.Scalar, f contentForm) []byte {
	ref, ok := blob.ParseRef(v.T)
	if !ok || s == nil || s.Content == nil {
		return f.text(w, v.T)
	}
	if s.err != nil {
		return append(w, f.none...)
	}
	w, s.err = s.Content(append(w, f.quote...), ref)
	return append(w, f.quote...)
}

// word returns the value to show of a column: the words for a name that is a tag, where
// they are wanted. Shape: Role.Name'Observer becomes Observer; a role that somebody has
// called Lead stays.
func (s *Sink) word(v value.Scalar, c *query.Column) value.Scalar {
	if c.Kind != meta.LocalizerTag || s == nil || s.Words == nil || c.Attr == nil || v.Form != value.Text {
		return v
	}
	if !bytes.HasPrefix(v.T, []byte(c.Attr.Token()+"'")) {
		return v
	}
	v.T = []byte(s.Words(string(v.T)))
	return v
}
