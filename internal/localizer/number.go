package localizer

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// Numbers are how a language writes numbers: what stands between their digits.
type Numbers struct{ group, decimal string }

// english is what counts where no language is asked for, or one with other digits.
var english = Numbers{group: ",", decimal: "."}

// NumbersIn returns the numbers of the first language of an Accept-Language, English
// ones without it.
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

// IsAmbiguous reports whether a text with one point is a number with and without it
// in a language that groups digits by points: 1.000, but neither 1.5 nor 0.125.
func (n Numbers) IsAmbiguous(text string) bool {
	_, ok := n.ungrouped(strings.TrimLeft(text, "+-"))
	return ok && n.group == "." && strings.Count(text, ".") == 1
}

// Plain returns a number without groups and with a decimal point; text as it is when
// it is none of the language.
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

// maxDigits is how many bytes of a number are looked at for groups: a longer one has
// none.
const maxDigits = 100

// ungrouped joins digits in groups of three. It reports false for others, and where the
// first is a zero: nobody groups what follows it, so that 0,125 is less than one.
func (n Numbers) ungrouped(text string) (string, bool) {
	if len(text) > maxDigits {
		return "", false
	}
	separator := n.group
	switch {
	case separator == "\u00a0" && !strings.Contains(text, separator): // spaces of other widths
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
