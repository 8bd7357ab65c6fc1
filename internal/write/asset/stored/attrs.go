package stored

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// Attrs is the JSON object in the column attrs or folded. Several versions may share it, because
// it is copied before each change.
type Attrs []Value

// Value is a key of Attrs with its scalar.
type Value struct {
	Key  string
	JSON string // the text of the scalar in JSON
}

// Set stores v under key, or removes the key when v is nil. It reports whether the object has
// changed.
func (as *Attrs) Set(key string, v any) bool {
	at := slices.IndexFunc(*as, func(x Value) bool { return x.Key == key })
	if v == nil {
		if at < 0 {
			return false
		}
		*as = append(append(Attrs(nil), (*as)[:at]...), (*as)[at+1:]...)
		return true
	}
	text := value.JSON(v)
	switch {
	case at < 0:
		*as = append((*as)[:len(*as):len(*as)], Value{key, text})
	case (*as)[at].JSON == text:
		return false
	default:
		next := append(Attrs(nil), *as...)
		next[at].JSON = text
		*as = next
	}
	return true
}

// Get returns the stored value of an attribute: string, int64, float64 or bool; nil if there is none.
func (as Attrs) Get(a *meta.Attr) any {
	for _, x := range as {
		if x.Key == a.Place.Column {
			return value.FromJSON(a.Kind, x.JSON)
		}
	}
	return nil
}

// Has reports whether there is a value under key.
func (as Attrs) Has(key string) bool {
	return slices.ContainsFunc(as, func(x Value) bool { return x.Key == key })
}

// Without returns a copy without the value under key.
func (as Attrs) Without(key string) Attrs {
	return slices.DeleteFunc(slices.Clone(as), func(x Value) bool { return x.Key == key })
}

// Size returns an upper bound for the size of the JSON text in bytes.
func (as Attrs) Size() int {
	n := 2
	for _, x := range as {
		n += len(x.Key) + len(x.JSON) + 4
	}
	return n
}

// Text returns the object as JSON text. If the object is empty, it returns nil, for NULL.
func (as Attrs) Text() any {
	if len(as) == 0 {
		return nil
	}
	b := append(make([]byte, 0, as.Size()), '{')
	for i, x := range as {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, x.Key...)
		b = append(b, '"', ':')
		b = append(b, x.JSON...)
	}
	return string(append(b, '}'))
}

// Parse parses the text of a column. It makes the values canonical, so that equal values
// have equal texts.
func Parse(text string) (Attrs, error) {
	var as Attrs
	err := value.Members(text, func(key string, v jsontext.Token) error {
		as = append(as, Value{key, value.Canonical(v)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stored attributes: %w", err)
	}
	return as, nil
}
