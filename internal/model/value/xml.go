package value

import (
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/model/meta"
)

// XMLDeclaration is the beginning of every XML answer.
const XMLDeclaration = `<?xml version="1.0" encoding="UTF-8"?>`

// escapes are the escapes of bytes in XML.
type escapes struct {
	plain [256]bool             // true for a byte that is written unchanged, and is never a part of a longer character
	text  [utf8.RuneSelf]string // the escape of an ASCII character that is not plain
}

// replaced is written for characters that XML 1.0 does not allow.
const replaced = "\uFFFD"

var (
	textEscapes = escapesFor(map[byte]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '\r': "&#xD;", '\n': "", '\t': ""})
	attrEscapes = escapesFor(map[byte]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '\r': "&#xD;", '\n': "&#xA;", '\t': "&#x9;", '"': "&quot;"})
)

// escapesFor returns the given escapes. It also replaces every other control character.
func escapesFor(by map[byte]string) *escapes {
	all := &escapes{}
	for c := range byte(utf8.RuneSelf) {
		text, known := by[c]
		if !known && c < ' ' {
			text = replaced
		}
		all.plain[c], all.text[c] = text == "", text
	}
	return all
}

// AppendXML appends s as the text of an XML element. Every parser reads this text back as s.
// Characters that XML 1.0 does not allow, and bytes that are not UTF-8, become U+FFFD.
func AppendXML[T ~string | ~[]byte](w []byte, s T) []byte { return appendXML(w, s, textEscapes) }

// AppendXMLData appends a value as the text of an element on the data path: the output of
// AppendData without quotes, or nothing for a missing value.
func AppendXMLData(w []byte, v Scalar, k meta.Kind, a *meta.Attr) []byte {
	if v.Form == Null {
		return w
	}
	return kinds[k].xml(w, v, a)
}

// appendXMLText appends a text, or the number stored in its place.
func appendXMLText(w []byte, v Scalar, a *meta.Attr) []byte {
	if v.Form != Text {
		return appendNumber(w, v, a)
	}
	return AppendXML(w, v.T)
}

// AppendXMLAttr appends s as the value of an XML attribute, without the double quotes around
// it. It also escapes characters that parsers would read as a space there.
func AppendXMLAttr[T ~string | ~[]byte](w []byte, s T) []byte { return appendXML(w, s, attrEscapes) }

func appendXML[T ~string | ~[]byte](w []byte, s T, by *escapes) []byte {
	from := 0 // start of the text that is appended unchanged
	for i := 0; i < len(s); {
		c, text, size := s[i], "", 1
		switch {
		case by.plain[c]:
			i++
			continue
		case c < utf8.RuneSelf:
			text = by.text[c]
		default:
			text, size = escapeRune(string(s[i:min(i+utf8.UTFMax, len(s))]))
		}
		if text != "" {
			w = append(append(w, s[from:i]...), text...)
			from = i + size
		}
		i += size
	}
	return append(w, s[from:]...)
}

// escapeRune returns the escape of the first character of s, which is not ASCII, and the size of
// the character in bytes. The escape is empty if the character needs none.
func escapeRune(s string) (text string, size int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
		return replaced, size
	}
	return "", size
}
