package asset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/value"
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
	text := jsonScalar(v)
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
			return fromJSON(a, x.json)
		}
	}
	return nil
}

func fromJSON(a *meta.Attr, text string) any {
	if strings.HasPrefix(text, `"`) {
		return unquoted(text)
	}
	switch a.Kind {
	case meta.Boolean:
		return text == "true"
	case meta.Numeric:
		return storedNumber(meta.Numeric, text)
	}
	return storedNumber(meta.LongInt, text)
}

// storedNumber reads a number back, a Numeric or a whole one; nil for none.
func storedNumber(k meta.Kind, text string) any {
	if x, ok := value.Parse(k, false, text); ok {
		return x
	}
	return nil
}

// unquoted is the text of a JSON string that jsonScalar made.
func unquoted(json string) string {
	b, err := jsontext.AppendUnquote(nil, json)
	if err != nil {
		return "" // jsonScalar makes no such string
	}
	return string(b)
}

func jsonScalar(v any) string {
	switch x := v.(type) {
	case string:
		b, err := jsontext.AppendQuote(nil, x)
		if err != nil {
			b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(x, "\uFFFD"))
		}
		return string(b)
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(x)
	}
	panic(fmt.Sprintf("asset: %T has no JSON form", v))
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

// parseAttrs reads the column back. Values are spelled our way again, whatever
// a server that normalizes JSON made of them, so that equal values compare equal.
func parseAttrs(text string) (attrs, error) {
	if text == "" {
		return nil, nil
	}
	d := jsontext.NewDecoder(strings.NewReader(text))
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("stored attributes: %w", err)
	}
	var as attrs
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("stored attributes: %w", err)
		}
		name := key.String()
		value, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("stored attribute %s: %w", name, err)
		}
		as = append(as, attrValue{name, spelled(value)})
	}
	return as, nil
}

func spelled(t jsontext.Token) string {
	switch t.Kind() {
	case '"':
		return jsonScalar(t.String())
	case '0':
		return number(t.String())
	}
	return t.String()
}

func number(s string) string {
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return s
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return jsonScalar(f)
	}
	return s
}
