package value

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// stretch is the maximum number of bytes that are quoted in one step. A longer text is quoted in
// parts, because the garbage collector cannot interrupt one step (see memory.Append).
const stretch = 256 << 10

// AppendString appends s as a JSON string. It does not escape <, > and &. It replaces bytes
// that are not UTF-8.
func AppendString[T ~string | ~[]byte](w []byte, s T) []byte {
	if len(s) > stretch {
		return appendLong(slices.Grow(w, len(s)+len(`""`)), s)
	}
	w, _ = jsontext.AppendQuote(w, s) // its only error is invalid UTF-8, which it has replaced
	return w
}

// appendLong quotes a text in parts that end at a character. w has room for the result.
func appendLong[T ~string | ~[]byte](w []byte, s T) []byte {
	w = append(w, '"')
	var part []byte
	for len(s) > 0 {
		n := min(stretch, len(s))
		for back := 0; back < utf8.UTFMax && n < len(s) && !utf8.RuneStart(s[n]); back++ {
			n--
		}
		part, _ = jsontext.AppendQuote(part[:0], s[:n])
		w = append(w, part[1:len(part)-1]...)
		s = s[n:]
	}
	return append(w, '"')
}

// Marshal returns v as JSON on one line. It does not escape <, > and &.
// Errors: those of encoding/json.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// AppendStrings appends a JSON list of strings.
func AppendStrings(w []byte, all []string) []byte {
	w = append(w, '[')
	for i, s := range all {
		if i > 0 {
			w = append(w, ',')
		}
		w = AppendString(w, s)
	}
	return append(w, ']')
}
