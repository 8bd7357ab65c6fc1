package folding

import (
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// kind says what a character does to a text that should be plain.
type kind uint8

const (
	plain     kind = iota + 1
	cased          // the text is not plain: the character has another case outside ASCII, is NUL, or is no character
	composing      // the text may not be in NFC
)

// kinds has the kinds of characters, 256 characters per page. A page is computed when it is needed.
var kinds [(unicode.MaxRune + 1) >> 8]atomic.Pointer[[256]kind]

func kindOf(r rune) kind {
	page := kinds[r>>8].Load()
	if page == nil {
		page = &[256]kind{}
		for i := range page {
			page[i] = computed(r&^0xff | rune(i))
		}
		kinds[r>>8].Store(page)
	}
	return page[r&0xff]
}

// computed returns the kind of a character. A text is in NFC if each of its characters alone is in NFC and none of
// them combines with a character before it.
func computed(r rune) kind {
	switch {
	case r == 0 || r == utf8.RuneError:
		return cased
	case r < utf8.RuneSelf:
		return plain
	case foldRune(r) != r || unicode.ToLower(r) != r:
		return cased
	}
	var text [utf8.UTFMax]byte
	b := text[:utf8.EncodeRune(text[:], r)]
	if norm.NFC.Properties(b).BoundaryBefore() && norm.NFC.IsNormal(b) {
		return plain
	}
	return composing
}
