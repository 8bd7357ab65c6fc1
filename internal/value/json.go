package value

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendString appends s as a JSON string, with <, > and & as they are. Bytes
// that are no UTF-8 are replaced.
func AppendString[T ~string | ~[]byte](w []byte, s T) []byte {
	w, _ = jsontext.AppendQuote(w, s) // its only error is bad UTF-8, which it has replaced
	return w
}

// Marshal returns v as JSON on one line, with <, > and & as they are.
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
