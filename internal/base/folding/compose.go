package folding

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// joiner is a character that package norm inserts into a run of more than thirty marks, to limit
// the memory for streams of text. The NFC form of the Unicode standard does not contain it.
const joiner = "\u034f"

// composed returns the NFC form of a text.
func composed(s string) string {
	c := norm.NFC.String(s)
	if strings.Count(c, joiner) == strings.Count(s, joiner) {
		return c
	}
	return string(compose(decompose(s)))
}

// mark is a character and its canonical combining class.
type mark struct {
	r     rune
	class uint8
}

// decompose returns the characters of the NFD form, with each run of marks ordered by class.
func decompose(s string) []mark {
	var all []mark
	begin := 0 // start of the run of marks at the end
	order := func() {
		slices.SortStableFunc(all[begin:], func(a, b mark) int { return cmp.Compare(a.class, b.class) })
	}
	for _, r := range s {
		for _, d := range norm.NFD.String(string(r)) {
			m := mark{d, norm.NFD.PropertiesString(string(d)).CCC()}
			if m.class == 0 {
				order()
				begin = len(all) + 1
			}
			all = append(all, m)
		}
	}
	if begin < len(all) {
		order()
	}
	return all
}

// compose replaces a character and the base character before it by their composite character. It
// does so only if there is a composite character and no mark between them prevents it.
func compose(all []mark) []rune {
	var out []rune
	base, last := -1, uint8(0) // index of the base, and the class of the previous character
	for _, m := range all {
		if base >= 0 && (len(out) == base+1 || last < m.class && last > 0) {
			if r, ok := pair(out[base], m.r); ok {
				out[base] = r
				continue
			}
		}
		if m.class == 0 {
			base = len(out)
		}
		last = m.class
		out = append(out, m.r)
	}
	return out
}

// pair returns the composite character of two characters.
func pair(a, b rune) (rune, bool) {
	both := []rune(norm.NFC.String(string([]rune{a, b})))
	return both[0], len(both) == 1
}
