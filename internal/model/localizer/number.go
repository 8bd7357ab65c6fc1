package localizer

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// Numbers is the number format of a language: the text between groups of digits, and the
// decimal sign.
type Numbers struct{ group, decimal string }

// english is the default, and the format for languages with digits other than 0 to 9.
var english = Numbers{group: ",", decimal: "."}

// NumbersIn returns the number format of the first language of an Accept-Language header. Without
// a language it returns the English format.
func NumbersIn(accept string) Numbers {
	if len(accept) > maxAccept {
		return english
	}
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(tags) == 0 {
		return english
	}
	text := message.NewPrinter(tags[0]).Sprint(number.Decimal(1234567.5))
	text, ok := strings.CutPrefix(text, "1")
	group, text, ok2 := strings.Cut(text, "234")
	decimal, last := strings.CutSuffix(strings.TrimPrefix(text, group+"567"), "5")
	if !ok || !ok2 || !last || group == "" || decimal == "" {
		return english
	}
	return Numbers{group, decimal}
}

// IsAmbiguous reports whether a text has two meanings as a number in this language: its point may
// be a decimal point or a group separator. This is so for 1.000, but not for 1.5 or 0.125.
func (n Numbers) IsAmbiguous(text string) bool {
	_, ok := n.ungrouped(strings.TrimLeft(text, "+-"))
	return ok && n.group == "." && strings.Count(text, ".") == 1
}

// Plain returns a number of the language without groups and with a decimal point. It returns
// any other text unchanged.
func (n Numbers) Plain(text string) string {
	sign := text[:len(text)-len(strings.TrimLeft(text, "+-"))]
	whole, part, fraction := strings.Cut(text[len(sign):], n.decimal)
	digits, grouped := n.ungrouped(whole)
	if !grouped {
		digits = whole
	}
	if !grouped && n.decimal == "." || !isDigits(digits) || !isDigits(part) || digits+part == "" ||
		grouped && n.group == "." && !fraction && strings.Count(whole, ".") == 1 {
		return text
	}
	if fraction {
		digits += "." + part
	}
	return sign + digits
}

// maxDigits is the maximum length, in bytes, of a number with groups.
const maxDigits = 100

// ungrouped joins digits that are in groups of three. It returns false for other groups, and if the
// first digit is a zero. Nobody groups such a number, so 0.125 in German is less than one, although
// a point separates groups there.
func (n Numbers) ungrouped(text string) (string, bool) {
	if len(text) > maxDigits {
		return "", false
	}
	separator := n.group
	switch {
	case separator == "\u00a0" && !strings.Contains(text, separator): // accept other space characters, too
		separator = " "
		text = strings.ReplaceAll(text, "\u202f", " ")
	case separator == "’" && !strings.Contains(text, separator):
		separator = "'"
	}
	groups := strings.Split(text, separator)
	for i, g := range groups {
		if !isDigits(g) || len(g) > 3 || len(g) < 3 && (i > 0 || g == "") {
			return "", false
		}
	}
	return strings.Join(groups, ""), len(groups) > 1 && groups[0][0] != '0'
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }
