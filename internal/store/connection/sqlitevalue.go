package connection

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// textOf returns an SQL value as text, and false for NULL.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case []byte:
		return string(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return fmt.Sprint(v), true
}

// This function returns the character of s if s has exactly one character, else 0.
func only(s string) rune {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || n != len(s) {
		return 0
	}
	return r
}
