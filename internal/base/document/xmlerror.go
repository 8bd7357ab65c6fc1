package document

import (
	"encoding/xml"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/alds-dev/alds/internal/base/fault"
)

func invalidXML(at int, format string, args ...any) error {
	return fault.Invalidf(at, "Invalid XML at byte %d: "+format+".", append([]any{at}, args...)...)
}

func mixed(at int) error { return invalidXML(at, "an element has both text and elements") }

func (p *xmlParser) endsTooEarly() error { return invalidXML(len(p.text), "it ends too early") }

// fail converts the decoder's error to a fault with the place in the body.
func (p *xmlParser) fail(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	syntax, ok := errors.AsType[*xml.SyntaxError](err)
	if !ok {
		return invalidXML(p.at, "%s", strings.TrimPrefix(err.Error(), "xml: "))
	}
	at, msg := p.offset(), syntax.Msg
	kind, what, _ := strings.Cut(msg, " entity ")
	switch {
	case strings.HasPrefix(msg, "unexpected EOF"):
		return p.endsTooEarly()
	case kind == "invalid character" && strings.HasPrefix(what, "&"):
		return p.badEntity(what)
	case strings.HasPrefix(msg, "illegal character code"):
		at = p.illegal(at)
	case strings.HasPrefix(msg, "invalid XML name: "):
		at -= len(msg) - len("invalid XML name: ")
	case strings.HasPrefix(msg, "unescaped ]]>"):
		at -= len("]]>")
	case !strings.HasPrefix(msg, "expected ") || strings.HasPrefix(msg, "expected />"):
		at-- // the decoder has already read the wrong character
	}
	return invalidXML(at, "%s", msg)
}

// badEntity returns the error for an unknown entity or a wrong reference. The parameter what is the
// text of the entity or reference in the message of the decoder.
func (p *xmlParser) badEntity(what string) error {
	name, isOpen := strings.CutSuffix(what, " (no semicolon)")
	at := p.offset() - len(name)
	if isOpen || strings.HasPrefix(name, "&#") {
		return invalidXML(at, "%s stands for no character", name)
	}
	return invalidXML(at, "the entity %s is not accepted, only &lt; &gt; &amp; &apos; &quot; and characters by number", name)
}

// surrogate returns an error if a token contains half of a surrogate pair that is written as a
// number. The decoder would replace this number by another character.
func (p *xmlParser) surrogate(token xml.Token) error {
	raw := p.text[p.at:p.offset()]
	switch token.(type) {
	case xml.CharData:
		if strings.HasPrefix(raw, cdata) {
			return nil
		}
	case xml.StartElement:
	default:
		return nil
	}
	at := badReference(raw)
	if at < 0 {
		return nil
	}
	name, _, _ := strings.Cut(raw[at:], ";")
	return invalidXML(p.at+at, "%s; stands for no character", name)
}

// illegal returns the place of a character that XML does not allow, in the token up to end.
func (p *xmlParser) illegal(end int) int {
	token := p.text[p.at:end]
	if i := strings.IndexFunc(token, isIllegal); i >= 0 {
		return p.at + i
	}
	return p.at + max(0, badReference(token))
}

// badReference returns the offset of the first reference, such as &#0;, whose number is not an
// allowed character. It returns -1 if there is none. The references of the text must be well formed.
func badReference(text string) int {
	for i := 0; ; i++ {
		n := strings.Index(text[i:], "&#")
		if n < 0 {
			return -1
		}
		i += n
		number, _, _ := strings.Cut(text[i+len("&#"):], ";")
		digits, isHex := strings.CutPrefix(number, "x")
		base := 10
		if isHex {
			base = 16
		}
		if r, err := strconv.ParseInt(digits, base, 32); err != nil || isIllegal(rune(r)) {
			return i
		}
	}
}

// isIllegal reports whether XML does not allow a character.
func isIllegal(r rune) bool {
	return r < ' ' && !strings.ContainsRune(xmlSpaces, r) || utf16.IsSurrogate(r) || r == '\ufffe' || r == '\uffff'
}
