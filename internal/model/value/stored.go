package value

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
)

// JSON returns a value as the JSON text stored in asset.attrs. v is a string, int64, float64
// or bool.
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

// FromJSON is the reverse of JSON. It returns nil if the text is not a value of the kind.
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

// FromColumn converts a driver's value of an asset column to the Go type of the column:
// string, int64, float64, or nil for NULL.
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

// Canonical returns a stored scalar in the form in which the function JSON writes it. A database
// server may have stored the scalar in another form.
func Canonical(v jsontext.Token) string {
	switch v.Kind() {
	case '"':
		return JSON(v.String())
	case '0':
		text := v.String()
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return text
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return JSON(f)
		}
		return text
	}
	return v.String()
}

// Members calls fn for each member of a stored JSON object. An empty text has no members. The token
// is valid until fn returns.
// Errors: the error of fn; the text is not an object of scalars.
func Members[T ~string | ~[]byte](object T, fn func(key string, v jsontext.Token) error) error {
	if len(object) == 0 {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer([]byte(object)))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.New("not an object")
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		v, err := d.ReadToken()
		if err != nil {
			return err
		}
		if v.Kind() == '{' || v.Kind() == '[' {
			return fmt.Errorf("%s is not a scalar", name)
		}
		if err := fn(name, v); err != nil {
			return err
		}
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '}' {
		return errors.New("the object does not end")
	}
	return nil
}

// parsed reads a stored number, or returns nil.
func parsed(parse func(string, bool) (any, bool), text string) any {
	if v, ok := parse(text, false); ok {
		return v
	}
	return nil
}

// OrUnset returns the value of a stored Boolean. A Boolean that was never written has the
// attribute's value Unset.
func OrUnset(a *meta.Attr, v any) any {
	if v == nil {
		return a.Unset()
	}
	return v
}
