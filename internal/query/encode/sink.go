package encode

import (
	"bytes"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/blob"
)

// Sink receives an answer while it is appended, so that neither the whole answer nor one long
// row has to be in memory. A nil Sink receives nothing.
type Sink struct {
	// Full is called when the buffer has Next bytes or more. It returns the next buffer, and the
	// value of Next for that buffer. After an error the rest of the row is left out.
	Full func(w []byte) (rest []byte, next int, err error)
	Next int

	// Content appends the content with the reference ref as Base64. If Content is nil, the
	// reference is written instead.
	Content func(w []byte, ref blob.Ref) ([]byte, error)

	// Words returns the text for a tag of the localizer; nil: tags are written unchanged.
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

// Flush calls Full with w if w has Next bytes or more. After an error of Full, Flush returns this
// error, now and in all later calls.
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

// The maximum number of cached bytes of rows that appear several times: for one list, and for
// all lists of an answer.
const (
	maxCachedList = 64 << 10
	maxCached     = 8 << 20
)

// cache stores the text of a list that is appended for the second time. The text begins at start in
// w. flushes is the number of calls of Full when the text began. If Full was called again, the text
// in w is incomplete and is not stored.
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

// contentForm is how a content is written in an answer.
type contentForm struct {
	quote string
	none  string // written after the answer has failed
	text  func(w, s []byte) []byte
}

var (
	jsonContent = contentForm{quote: `"`, none: "null", text: value.AppendString[[]byte]}
	xmlContent  = contentForm{text: value.AppendXML[[]byte]}
)

// content appends the content with the reference v as Base64. An error ends the answer, like an
// error of Full.
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

// word returns the value to write for a column. If Words is set, it replaces a tag of the
// localizer by its text. Example: the tag Role.Name'Observer becomes Observer. The name of a
// custom role is no tag and stays unchanged.
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
