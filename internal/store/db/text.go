package db

import (
	"database/sql/driver"
	"unicode/utf8"
)

// asText turns byte slices that are text into strings. A prepared byte slice compares as
// text, but quoted into SQL text it would compare as bytes.
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
