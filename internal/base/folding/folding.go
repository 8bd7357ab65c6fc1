package folding

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Of returns the folded form of a text: its NFC form, with each character replaced by the
// representative of its cases. The result is at most three times as long as the text. Bytes that
// are not UTF-8 become U+FFFD. NUL also becomes U+FFFD, because some functions of database servers
// end a text at NUL.
func Of(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return strings.Map(foldRune, composed(s))
}

// Equal reports whether two texts are equal.
func Equal(a, b string) bool { return a == b || Of(a) == Of(b) }

// Is reports whether folded is the folded form of s. It makes no copy if s has only ASCII
// characters.
func Is(s, folded string) bool {
	if !isASCII(s) {
		return Of(s) == folded
	}
	if len(s) != len(folded) {
		return false
	}
	for i := range len(s) {
		if lower(s[i]) != folded[i] {
			return false
		}
	}
	return true
}

// Contains reports whether s contains a text that is equal to part, as Equal compares texts.
func Contains(s, part string) bool { return strings.Contains(Of(s), Of(part)) }

// IsPlain reports whether the folded form of a text is its lower case as every database server
// computes it. This is so if only its ASCII characters have another case, if it contains no NUL,
// and if it is in NFC. IsPlain makes no copy.
func IsPlain(s string) bool {
	if isASCII(s) {
		return true
	}
	mayCompose := false
	for _, r := range s {
		switch kindOf(r) {
		case cased:
			return false
		case composing:
			mayCompose = true
		}
	}
	return !mayCompose || norm.NFC.QuickSpanString(s) == len(s) || norm.NFC.IsNormalString(s)
}

// isASCII reports whether a text has only ASCII characters, without NUL.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] == 0 || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
