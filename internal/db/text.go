package db

import (
	"database/sql/driver"
	"unicode/utf8"
)

// asText turns byte slices that are text into strings: quoted into SQL text, a
// byte slice would compare as bytes, while prepared it compares as text.
func asText(args []driver.NamedValue) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		if b, ok := a.Value.([]byte); ok && b != nil && utf8.Valid(b) {
			a.Value = string(b)
		}
		out[i] = a
	}
	return out
}
