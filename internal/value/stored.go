package value

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/meta"
)

// JSON returns a value as the JSON text that is stored in asset.attrs. v is a
// string, int64, float64 or bool.
func JSON(v any) string {
	switch v := v.(type) {
	case string:
		return string(AppendString(nil, v))
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	panic(fmt.Sprintf("value: %T has no JSON form", v))
}

// FromJSON returns what JSON made text of; nil when the text is no value of the
// kind.
func FromJSON(k meta.Kind, text string) any {
	if strings.HasPrefix(text, `"`) {
		b, err := jsontext.AppendUnquote(nil, text)
		if err != nil {
			return nil
		}
		return string(b)
	}
	switch FormOf(k) {
	case Bool:
		return text == "true"
	case Float:
		return parsed(parseFloat, text)
	default:
		return parsed(parseInt, text)
	}
}

// FromColumn returns what a driver gave for a column of an asset as the Go type
// of the column: string, int64, float64, or nil for NULL.
func FromColumn(k meta.ColumnKind, v any) any {
	switch v := v.(type) {
	case []byte:
		switch k {
		case meta.Str, meta.Long:
			return string(v)
		case meta.Number:
			return parsed(parseFloat, string(v))
		default:
			return parsed(parseInt, string(v))
		}
	case int64:
		if k == meta.Number {
			return float64(v)
		}
	}
	return v
}

// parsed reads a stored number; nil when it is none.
func parsed(parse func(string, bool) (any, bool), text string) any {
	if v, ok := parse(text, false); ok {
		return v
	}
	return nil
}

// OrUnset returns a stored Boolean as it reads: one that was never written has
// the value that its attribute says.
func OrUnset(a *meta.Attr, v any) any {
	if v == nil {
		return a.Unset()
	}
	return v
}
