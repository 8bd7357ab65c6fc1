package collation

import (
	"strings"
	"unicode/utf8"
)

// Like reports whether text matches an SQL pattern, character by character: % matches any text, _
// one character, and the character after escape matches itself. Like does not ignore case. If case
// must not count, the caller passes the folded forms of both.
//
// For each part of the pattern between two %, Like uses the first match and never tries a later
// one. A part without _ is searched as one string.
func Like(text, pattern string, escape rune) bool {
	if len(text) < len(pattern)-strings.Count(pattern, "%")-strings.Count(pattern, string(escape)) {
		return false // shorter than the parts between %
	}
	head, rest, more := cutAny(pattern, escape)
	n, ok := prefixLike(text, head, escape)
	if !ok || !more {
		return ok && n == len(text)
	}
	text = text[n:]
	for {
		var part string
		if part, rest, more = cutAny(rest, escape); !more {
			return suffixLike(text, part, escape)
		}
		if n, ok = indexLike(text, part, escape); !ok {
			return false
		}
		text = text[n:]
	}
}

// cutAny cuts a pattern at its first % that is not escaped.
func cutAny(pattern string, escape rune) (before, after string, found bool) {
	for i := 0; i < len(pattern); {
		c, n := utf8.DecodeRuneInString(pattern[i:])
		switch {
		case c == escape && i+n < len(pattern):
			_, next := utf8.DecodeRuneInString(pattern[i+n:])
			n += next
		case c == '%' && escape != '%':
			return pattern[:i], pattern[i+n:], true
		}
		i += n
	}
	return pattern, "", false
}

// literal returns the text that a pattern without % and _ matches. It returns false for a pattern
// with _.
func literal(pattern string, escape rune) (string, bool) {
	if !strings.ContainsRune(pattern, escape) {
		return pattern, !strings.Contains(pattern, "_")
	}
	b := make([]byte, 0, len(pattern))
	for i := 0; i < len(pattern); {
		c, n := utf8.DecodeRuneInString(pattern[i:])
		if c == escape && i+n < len(pattern) {
			i += n
			_, n = utf8.DecodeRuneInString(pattern[i:])
		} else if c == '_' {
			return "", false
		}
		b = append(b, pattern[i:i+n]...)
		i += n
	}
	return string(b), true
}

// indexLike finds the first part of text that matches a pattern without %. It returns where this
// part ends, in bytes.
func indexLike(text, pattern string, escape rune) (end int, ok bool) {
	if whole, ok := literal(pattern, escape); ok {
		at := strings.Index(text, whole)
		return at + len(whole), at >= 0
	}
	for at := 0; ; {
		if n, ok := prefixLike(text[at:], pattern, escape); ok {
			return at + n, true
		}
		if at == len(text) {
			return 0, false
		}
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
}

// suffixLike reports whether the end of text matches a pattern without %.
func suffixLike(text, pattern string, escape rune) bool {
	if whole, ok := literal(pattern, escape); ok {
		return strings.HasSuffix(text, whole)
	}
	at := len(text)
	for i := 0; i < len(pattern); { // go back one character of text for each item of the pattern
		if at == 0 {
			return false
		}
		c, n := utf8.DecodeRuneInString(pattern[i:])
		if i += n; c == escape && i < len(pattern) {
			_, n = utf8.DecodeRuneInString(pattern[i:])
			i += n
		}
		_, n = utf8.DecodeLastRuneInString(text[:at])
		at -= n
	}
	n, ok := prefixLike(text[at:], pattern, escape)
	return ok && at+n == len(text)
}

// prefixLike returns the length, in bytes, of the prefix of text that matches a pattern without %.
func prefixLike(text, pattern string, escape rune) (n int, ok bool) {
	for p := 0; p < len(pattern); {
		if n == len(text) {
			return 0, false
		}
		tn, pn, ok := likeOne(text[n:], pattern[p:], escape)
		if !ok {
			return 0, false
		}
		n, p = n+tn, p+pn
	}
	return n, true
}

// likeOne matches the first character of text with the first item of the pattern, which is
// not %. It returns the length of both in bytes.
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
