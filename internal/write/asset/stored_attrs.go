package asset

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// attrs is the JSON object asset.attrs: scalars by key, each as JSON text.
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

// get returns the value of a as scalar returns it, nil when there is none.
func (as attrs) get(a *meta.Attr) any {
	for _, x := range as {
		if x.key == a.Place.Column {
			return value.FromJSON(a.Kind, x.json)
		}
	}
	return nil
}

// size is how long the text is at most.
func (as attrs) size() int {
	n := 2
	for _, x := range as {
		n += len(x.key) + len(x.json) + 4
	}
	return n
}

// text renders the object; nil, a null column, when it is empty.
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

// parseAttrs reads the column back, in canonical text, so that equal values compare
// equal.
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
