package asset

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// attrs is the JSON object in a column attrs or folded: keys, and their scalars as JSON text.
// It is copied before it is changed, so versions may share it.
type attrs []attrValue

type attrValue struct{ key, json string }

// set stores v under key, or removes the key when v is nil. It reports whether
// that changed anything.
func (as *attrs) set(key string, v any) bool {
	at := slices.IndexFunc(*as, func(x attrValue) bool { return x.key == key })
	if v == nil {
		if at < 0 {
			return false
		}
		*as = append(append(attrs(nil), (*as)[:at]...), (*as)[at+1:]...)
		return true
	}
	text := value.JSON(v)
	switch {
	case at < 0:
		*as = append((*as)[:len(*as):len(*as)], attrValue{key, text})
	case (*as)[at].json == text:
		return false
	default:
		next := append(attrs(nil), *as...)
		next[at].json = text
		*as = next
	}
	return true
}

// get returns the value of an attribute in the same form as scalar; nil if there is none.
func (as attrs) get(a *meta.Attr) any {
	for _, x := range as {
		if x.key == a.Place.Column {
			return value.FromJSON(a.Kind, x.json)
		}
	}
	return nil
}

// size returns an upper bound of the size of the text in bytes.
func (as attrs) size() int {
	n := 2
	for _, x := range as {
		n += len(x.key) + len(x.json) + 4
	}
	return n
}

// text returns the object as JSON text. If the object is empty, it returns nil, for NULL.
func (as attrs) text() any {
	if len(as) == 0 {
		return nil
	}
	b := append(make([]byte, 0, as.size()), '{')
	for i, x := range as {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, x.key...)
		b = append(b, '"', ':')
		b = append(b, x.json...)
	}
	return string(append(b, '}'))
}

// parseAttrs parses the text of a column. It makes the values canonical, so that equal values
// have equal texts.
func parseAttrs(text string) (attrs, error) {
	var as attrs
	err := value.Members(text, func(key string, v jsontext.Token) error {
		as = append(as, attrValue{key, value.Canonical(v)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stored attributes: %w", err)
	}
	return as, nil
}
