package localizer

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/alds-dev/alds/internal/model/meta"
)

// MaxText is the maximum number of characters of a text.
const MaxText = 4000

// Override is a text that an administrator has set for a tag.
type Override struct {
	Tag      string
	Language string // such as "de"; empty: every language
	Text     string
}

// Localizer returns the texts of one model. It is immutable and safe for concurrent use; New
// returns one.
type Localizer struct {
	model       *meta.Model
	methodology string // Scrum, XP, AgileUP or DSDM
	books       []book // English first
	matcher     language.Matcher
	set         map[[2]string]string // overrides by language and tag
}

// New returns the texts of a model, without overrides.
func New(m *meta.Model, methodology string) *Localizer {
	l := &Localizer{model: m, methodology: methodology, books: books(methodology)}
	tags := make([]language.Tag, len(l.books))
	for i := range l.books {
		tags[i] = l.books[i].tag
	}
	l.matcher = language.NewMatcher(tags)
	return l
}

// WithModel returns the texts of another model, with the same overrides.
func (l *Localizer) WithModel(m *meta.Model) *Localizer {
	other := *l
	other.model = m
	return &other
}

// With returns the texts with these overrides and no others.
func (l *Localizer) With(overrides []Override) *Localizer {
	other := *l
	other.set = make(map[[2]string]string, len(overrides))
	for _, o := range overrides {
		other.set[[2]string{o.Language, o.Tag}] = o.Text
	}
	return &other
}

// Languages returns the available languages, English first.
func (l *Localizer) Languages() []string {
	names := make([]string, len(l.books))
	for i := range l.books {
		names[i] = l.books[i].tag.String()
	}
	return names
}

// maxAccept is the maximum size, in bytes, of an Accept-Language header. A longer header is
// ignored.
const maxAccept = 500

// In returns the texts in the best language for an Accept-Language header, or in English if
// none matches.
func (l *Localizer) In(accept string) Texts {
	if accept == "" || len(accept) > maxAccept {
		return Texts{l, 0}
	}
	_, i := language.MatchStrings(l.matcher, accept)
	return Texts{l, i}
}

// Texts are the texts in one language.
type Texts struct {
	l  *Localizer
	at int // index in l.books
}

// Language returns the language of the texts, such as "de".
func (t Texts) Language() string { return t.l.books[t.at].tag.String() }

// Of returns the text of a tag.
func (t Texts) Of(tag string) string {
	tag = strings.TrimSpace(tag)
	parts := strings.Split(tag, separator)
	places := t.l.candidates(tag, parts)
	for _, b := range t.books() {
		for _, p := range places {
			if text, ok := t.find(b, p.tag); ok {
				return t.filled(text, p.dropped)
			}
		}
	}
	return plain(tag, parts)
}

// books returns the books to search: first the book of the language, then the English book.
func (t Texts) books() []*book {
	if t.at == 0 {
		return []*book{&t.l.books[0]}
	}
	return []*book{&t.l.books[t.at], &t.l.books[0]}
}

// find looks up one tag: in the overrides, in the model, and in the book.
func (t Texts) find(b *book, tag string) (string, bool) {
	for _, lang := range [...]string{b.tag.String(), ""} {
		if text, ok := t.l.set[[2]string{lang, tag}]; ok {
			return text, true
		}
	}
	if text, ok := t.l.ofModel(b, tag); ok {
		return text, true
	}
	text, ok := b.texts[tag]
	return t.resolved(text), ok
}

// resolved replaces each {tag} in a text of the program by the text of that tag.
func (t Texts) resolved(text string) string {
	before, rest, found := strings.Cut(text, "{")
	tag, after, closed := strings.Cut(rest, "}")
	if !found || !closed {
		return text
	}
	if !strings.Contains(tag, separator) { // a placeholder for a part of the tag
		return before + "{" + tag + "}" + t.resolved(after)
	}
	return before + t.Of(tag) + t.resolved(after)
}

// ofModel returns the model's text for a tag. Names of custom lists and custom attributes apply in
// every language. Names of all other types apply only in English.
func (l *Localizer) ofModel(b *book, tag string) (string, bool) {
	kind, rest, _ := strings.Cut(tag, separator)
	switch kind {
	case kindType:
		if t, ok := l.model.Type(rest); ok && (t.Custom || b == &l.books[0]) {
			name := displayName(t, l.methodology)
			return name, name != ""
		}
	case kindAttribute:
		name, typ, _ := strings.Cut(rest, separator)
		if t, ok := l.model.Type(typ); ok {
			if a, ok := t.Attr(name); ok && a.Display != "" {
				return a.Display, true
			}
		}
	}
	return "", false
}

func displayName(t *meta.Type, methodology string) string {
	if name := t.DisplayNames[methodology]; name != "" {
		return name
	}
	return t.DisplayNames["Scrum"]
}

// filled replaces the placeholders {0}, {1} and so on in a text by the dropped parts of the
// tag. It does not replace placeholders inside the parts.
func (t Texts) filled(text string, dropped []string) string {
	if len(dropped) == 0 || !strings.Contains(text, "{") {
		return text
	}
	var pairs []string
	for i, part := range dropped {
		place := "{" + strconv.Itoa(i) + "}"
		if i <= 9 && strings.Contains(text, place) {
			pairs = append(pairs, place, t.argument(part))
		}
	}
	return clip(strings.NewReplacer(pairs...).Replace(text))
}

// argument returns the text for a part of a tag. If the part names a type, or an attribute or
// operation of a type, this is the name that people see. Any other part is returned unchanged.
func (t Texts) argument(part string) string {
	name, member, _ := strings.Cut(part, ".")
	typ, ok := t.l.model.Type(name)
	if !ok {
		return part
	}
	of := t.Of(kindType + separator + name)
	if member == "" {
		return of
	}
	if _, ok := typ.Attr(member); ok {
		return t.Of(kindAttribute + separator + member + separator + name)
	}
	if _, ok := typ.Op(member); ok {
		member = t.Of(kindOperation + separator + member + separator + name)
	}
	return member + " (" + of + ")"
}

// clip shortens a text to MaxText characters.
func clip(text string) string {
	if len(text) <= MaxText {
		return text
	}
	n := 0
	for i := range text {
		if n == MaxText {
			return text[:i]
		}
		n++
	}
	return text
}

// IsText reports whether a text may be set.
func IsText(text string) bool {
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= MaxText
}
