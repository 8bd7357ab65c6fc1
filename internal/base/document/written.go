package document

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Written is a string as it is spelled in the body, if that differs from the string.
type Written struct {
	raw   string // the bytes between the quotes; empty if they are ambiguous
	quote byte   // the quote before and after raw
}

// Offset returns where byte k of the string is in the body, counted in bytes from the beginning of
// the string in the body. A nil Written returns k. For a text on several lines, or a text that an
// alias repeats, only the beginning is known.
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

// next returns how many bytes of the body (in) spell how many bytes of the string (out).
func (w *Written) next(at int) (in, out int) {
	switch c := w.raw[at]; {
	case c == '\'' && w.quote == '\'':
		return 2, 1
	case c == '\\' && w.quote == '"' && at+1 < len(w.raw):
		return escape(w.raw[at+1:])
	}
	return 1, 1
}

// escape measures the escape sequence whose letter is the first byte of s. JSON and YAML share
// most of them; some exist only in YAML.
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

// hex reads digits that the parser has accepted.
func hex(s string, from, to int) rune {
	n, _ := strconv.ParseUint(s[min(from, len(s)):min(to, len(s))], 16, 31)
	return rune(n)
}

// writtenYAML returns how a YAML string is spelled in the body. at is where the string begins. It
// returns nil if the spelling is the string itself.
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
