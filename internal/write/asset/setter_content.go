package asset

import (
	"encoding/base64"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/blob"
)

// content contains bytes to which a version of the batch refers. The bytes are stored separately
// from the version.
type content struct {
	ref   blob.Ref
	bytes []byte // nil if the bytes are already stored
}

// setContent sets an attribute to the reference of a content. The bytes are stored when the batch
// is written. An empty content clears the attribute.
func (set *setter) setContent(w *row, a *meta.Attr, ch *Change) error {
	c, ok := contentOf(ch)
	if !ok {
		return invalid(a)
	}
	if most := set.s.e.MaxContent; most > 0 && c.ref.Size > most {
		return tooLong(a)
	}
	if c.ref.Size == 0 {
		return set.storeScalar(w, a, nil)
	}
	set.changes.contents = append(set.changes.contents, c)
	return set.storeScalar(w, a, c.ref.String())
}

// contentOf returns the content of a change: a reference to stored bytes, or bytes that it decodes
// from Base64. It returns false if the change is not valid.
func contentOf(ch *Change) (content, bool) {
	if ch.Content != nil {
		return content{ref: *ch.Content}, true
	}
	written, ok := ch.single()
	if !ok || written.isEmpty() {
		return content{}, ok
	}
	b, err := base64.StdEncoding.DecodeString(written.Text)
	return content{blob.RefOf(b), b}, err == nil
}
