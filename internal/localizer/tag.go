package localizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// separator stands between the parts of a tag.
const separator = "'"

// The first parts of the model's tags.
const (
	kindType      = "AssetType"
	kindAttribute = "AttributeDefinition"
	kindOperation = "Operation"
)

// MaxTag is how many characters a tag may have.
const MaxTag = 400

// IsTag reports whether a text may be a tag: what can be asked for in a list, and
// in a line.
func IsTag(tag string) bool {
	return tag != "" && tag == strings.TrimSpace(tag) && utf8.ValidString(tag) && utf8.RuneCountInString(tag) <= MaxTag &&
		!strings.ContainsFunc(tag, func(r rune) bool { return r == ',' || r == '[' || r == ']' || unicode.IsControl(r) })
}

// candidate is a place where the text of a tag may be.
type candidate struct {
	tag     string
	dropped []string // the parts of the tag asked for that this one lacks
}

// candidates are the places of a tag, the most specific first. A type alone stands
// for its name; an attribute or operation of a type is that of the types above.
func (l *Localizer) candidates(tag string, parts []string) []candidate {
	all := make([]candidate, 1, len(parts)+4)
	all[0].tag = tag
	if len(parts) == 1 {
		if _, ok := l.model.Type(tag); ok {
			all = append(all, candidate{tag: kindType + separator + tag})
		}
		return all
	}
	if of, ok := l.model.Type(parts[len(parts)-1]); ok && len(parts) == 3 && isMember(parts[0]) {
		for _, t := range of.Ancestors()[1:] {
			all = append(all, candidate{tag: parts[0] + separator + parts[1] + separator + t.Name})
		}
	}
	for n := len(parts) - 1; n > 0; n-- {
		if n == 1 && (isMember(parts[0]) || parts[0] == kindType) {
			break // the word for all of a kind names none of them
		}
		all = append(all, candidate{strings.Join(parts[:n], separator), parts[n:]})
	}
	return all
}

func isMember(kind string) bool { return kind == kindAttribute || kind == kindOperation }

// plain makes a text of a tag that nothing is known of: of the name in it, else of
// its last part.
func plain(tag string, parts []string) string {
	last := parts[len(parts)-1]
	switch {
	case len(parts) > 1 && isMember(parts[0]):
		last = words(strings.TrimPrefix(parts[1], "Custom_"))
	case len(parts) == 2 && parts[0] == kindType:
		last = words(strings.TrimPrefix(last, "Custom_"))
	}
	if last == "" {
		return tag
	}
	return last
}

// words separates the words of a name: "Detail Estimate" for DetailEstimate, "Create
// Date UTC" for CreateDateUTC.
func words(name string) string {
	var b strings.Builder
	before, wasUpper := rune(0), false
	for i, r := range name {
		next, _ := utf8.DecodeRuneInString(name[i+utf8.RuneLen(r):])
		upper := unicode.IsUpper(r)
		switch {
		case r == '_':
			r = ' '
		case i > 0 && upper && before != ' ' && (!wasUpper || unicode.IsLower(next)):
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before, wasUpper = r, upper
	}
	return b.String()
}
