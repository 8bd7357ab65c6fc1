package db

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Like reports whether text matches an SQL pattern, character by character:
// % any run, _ one character, escape takes the next character as it is. Nothing
// is folded: both are folded already where case must not count.
func Like(text, pattern string, escape rune) bool {
	t, p := 0, 0
	star, mark := -1, 0 // where the last % continues in the pattern, and in the text
	for t < len(text) {
		if p < len(pattern) {
			if pattern[p] == '%' && escape != '%' {
				p++
				star, mark = p, t
				continue
			}
			if tn, pn, ok := likeOne(text[t:], pattern[p:], escape); ok {
				t, p = t+tn, p+pn
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(text[mark:])
		mark += n
		t, p = mark, star
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// likeOne matches the first character of text against the first item of the
// pattern, which is no %, and returns how many bytes each takes.
func likeOne(text, pattern string, escape rune) (tn, pn int, ok bool) {
	a, tn := utf8.DecodeRuneInString(text)
	b, pn := utf8.DecodeRuneInString(pattern)
	switch {
	case b == escape && pn < len(pattern):
		var n int
		b, n = utf8.DecodeRuneInString(pattern[pn:])
		pn += n
	case b == '_':
		return tn, pn, true
	}
	return tn, pn, a == b
}

// textOf returns an SQL value as text; false for NULL.
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

// only returns the one character of s, or 0.
func only(s string) rune {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || n != len(s) {
		return 0
	}
	return r
}
