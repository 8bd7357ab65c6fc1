package localizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// separator separates the parts of a tag.
const separator = "'"

// The first parts of the model's tags.
const (
	kindType      = "AssetType"
	kindAttribute = "AttributeDefinition"
	kindOperation = "Operation"
)

// MaxTag is the maximum number of characters of a tag.
const MaxTag = 400

// IsTag reports whether a text may be a tag. It must fit into a list of tags and on a line of
// a file.
func IsTag(tag string) bool {
	return tag != "" && tag == strings.TrimSpace(tag) && utf8.ValidString(tag) && utf8.RuneCountInString(tag) <= MaxTag &&
		!strings.ContainsFunc(tag, func(r rune) bool { return r == ',' || r == '[' || r == ']' || unicode.IsControl(r) })
}

// candidate is a tag that may have a text.
type candidate struct {
	tag     string
	dropped []string // the parts of the original tag that are missing in tag
}

// candidates returns the tags under which to search the text of a tag, the most specific
// first. A type name alone means the name of the type. An attribute or operation of a type
// may have the text of the types above.
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
			break // the first part alone, such as Operation, has a text that is not the name of an operation
		}
		all = append(all, candidate{strings.Join(parts[:n], separator), parts[n:]})
	}
	return all
}

func isMember(kind string) bool { return kind == kindAttribute || kind == kindOperation }

// plain makes a text for an unknown tag, from the name in it or from its last part.
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

// words separates the words of a name: "Detail Estimate" for DetailEstimate, "Create Date
// UTC" for CreateDateUTC.
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
