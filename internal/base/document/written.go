package document

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Written is the spelling of a string in the body, if the spelling differs from the string.
type Written struct {
	raw   string // the bytes between the quotes; empty if only the beginning of the string is known
	quote byte   // the quote before and after raw
}

// Offset returns where the body has byte k of the string: the number of bytes after the beginning of
// the string in the body. If w is nil, it returns k. For a text on several lines, or a text that an
// alias repeats, only the beginning is known, and Offset returns 0.
func (w *Written) Offset(k int) int {
	if w == nil {
		return k
	}
	at := 0
	for n := 0; n < k && at < len(w.raw); {
		in, out := w.next(at)
		if n += out; n > k {
			break
		}
		at += in
	}
	return min(at, len(w.raw))
}

// next reads one byte or one escape sequence of raw. at is the offset in raw where it begins. in is
// its length in the body, and out is the length of the part of the string that it stands for, both in
// bytes.
func (w *Written) next(at int) (in, out int) {
	switch c := w.raw[at]; {
	case c == '\'' && w.quote == '\'':
		return 2, 1
	case c == '\\' && w.quote == '"' && at+1 < len(w.raw):
		return escape(w.raw[at+1:])
	}
	return 1, 1
}

// escape returns the length of an escape sequence in the body (in) and in the string (out). The
// letter of the sequence is the first byte of s. Most sequences exist in JSON and YAML, some only in
// YAML.
func escape(s string) (in, out int) {
	switch s[0] {
	case 'u':
		first := hex(s, 1, 5)
		if utf16.IsSurrogate(first) && len(s) >= 11 {
			return 12, utf8.RuneLen(utf16.DecodeRune(first, hex(s, 7, 11)))
		}
		return 6, runeLen(first)
	case 'x':
		return 4, runeLen(hex(s, 1, 3))
	case 'U':
		return 10, runeLen(hex(s, 1, 9))
	case 'N', '_':
		return 2, 2
	case 'L', 'P':
		return 2, 3
	}
	return 2, 1
}

func runeLen(r rune) int { return utf8.RuneLen(max(0, min(r, utf8.MaxRune))) }

// hex returns the value of the hexadecimal digits s[from:to], which the parser has accepted.
func hex(s string, from, to int) rune {
	n, _ := strconv.ParseUint(s[min(from, len(s)):min(to, len(s))], 16, 31)
	return rune(n)
}

// writtenYAML returns the spelling of a YAML string in the body. text is the string, and at is the
// offset in the body where it begins. The result is nil if the spelling is equal to the string.
func writtenYAML(body []byte, at int, quote byte, text string) *Written {
	body = body[min(at, len(body)):]
	if bytes.HasPrefix(body, []byte(text)) && (quote == 0 || len(body) > len(text) && body[len(text)] == quote) {
		return nil
	}
	for i := 0; quote != 0 && i < len(body) && lineBreak(body[i:]) == 0; i++ {
		switch {
		case quote == '"' && body[i] == '\\' && lineBreak(body[i+1:]) == 0, quote == '\'' && bytes.HasPrefix(body[i:], []byte("''")):
			i++
		case body[i] == quote:
			return &Written{string(body[:i]), quote}
		}
	}
	return &Written{}
}
