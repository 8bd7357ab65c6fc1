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
	c, ok := set.contentOf(ch)
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

// decoded is a content with the Base64 text from which it was decoded.
type decoded struct {
	text string
	content
}

// contentOf returns the content of a change: a reference to stored bytes, or bytes that it decodes
// from Base64. An update of many assets has the same text for all of them, so the latest content is
// kept. The bytes of a content count as text that the request writes each time they are decoded.
// It returns false if the change is not valid.
func (set *setter) contentOf(ch *Change) (content, bool) {
	if ch.Content != nil {
		return content{ref: *ch.Content}, true
	}
	written, ok := ch.single()
	if !ok || written.isEmpty() {
		return content{}, ok
	}
	if kept := set.s.latestContent; kept.bytes != nil && kept.text == written.Text {
		return kept.content, true
	}
	b, err := base64.StdEncoding.DecodeString(written.Text)
	if err != nil {
		return content{}, false
	}
	set.changes.bytes += int64(len(b))
	set.s.latestContent = decoded{written.Text, content{blob.RefOf(b), b}}
	return set.s.latestContent.content, true
}
