package folding

import (
	"sync"
	"unicode"
)

// pages maps characters to their representatives, 256 characters per page. Characters that differ
// only in case have the same representative. Most pages are nil.
type pages [0x200]*[256]rune

// cases returns the representatives of all characters that have another case.
var cases = sync.OnceValue(func() *pages {
	p := &pages{}
	for r := range rune(len(p) << 8) {
		to := representative(r)
		if to == r {
			continue
		}
		page := p[r>>8]
		if page == nil {
			page = &[256]rune{}
			p[r>>8] = page
		}
		page[r&0xff] = to
	}
	return p
})

// foldRune returns the representative of all cases of r.
func foldRune(r rune) rune {
	if r == 0 {
		return unicode.ReplacementChar
	}
	p := cases()
	if r < 0 || int(r>>8) >= len(p) || p[r>>8] == nil {
		return r
	}
	if to := p[r>>8][r&0xff]; to != 0 {
		return to
	}
	return r
}

// representative returns the same character for all characters that differ from r only in
// case. It is a small letter if there is one: k for the Kelvin sign, s for the long s, σ for
// the final sigma.
func representative(r rune) rune {
	if unicode.SimpleFold(r) == r {
		return r
	}
	first := r
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		first = min(first, o)
	}
	return unicode.ToLower(unicode.ToUpper(first))
}
