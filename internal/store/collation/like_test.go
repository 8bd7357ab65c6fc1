package collation

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testseed"
)

// slowLike is a simple implementation of Like.
func slowLike(text, pattern []rune, escape rune) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	switch c := pattern[0]; {
	case c == escape && len(pattern) > 1:
		return len(text) > 0 && text[0] == pattern[1] && slowLike(text[1:], pattern[2:], escape)
	case c == '%' && escape != '%':
		for i := range len(text) + 1 {
			if slowLike(text[i:], pattern[1:], escape) {
				return true
			}
		}
		return false
	case c == '_' && escape != '_':
		return len(text) > 0 && slowLike(text[1:], pattern[1:], escape)
	}
	return len(text) > 0 && text[0] == pattern[0] && slowLike(text[1:], pattern[1:], escape)
}

func TestLike(t *testing.T) {
	rng := rand.New(rand.NewPCG(testseed.New(t), 0)) //nolint:gosec // a test repeats it
	word := func(letters string, n int) string {
		var b strings.Builder
		all := []rune(letters)
		for range rng.IntN(n) {
			b.WriteRune(all[rng.IntN(len(all))])
		}
		return b.String()
	}
	for range 100_000 {
		text, pattern := word("aä", 9), word("aä%_|", 7)
		if got, want := Like(text, pattern, '|'), slowLike([]rune(text), []rune(pattern), '|'); got != want {
			t.Fatalf("%q like %q: %v, want %v", text, pattern, got, want)
		}
	}
}

// TestLongPatterns searches for a long text in a longer one. Like must not compare the pattern
// again at every place of the text, which would take an hour.
func TestLongPatterns(t *testing.T) {
	text, part := strings.Repeat("a", 4<<20), strings.Repeat("a", 1<<20)
	for pattern, want := range map[string]bool{
		"%" + part + "b%":                false,
		"%" + part + "%" + part + "b":    false,
		"%" + part + "%" + part + "%":    true,
		part + "%b%" + part:              false,
		"%" + strings.Repeat("a%", 1000): true,
	} {
		if got := Like(text, pattern, '|'); got != want {
			t.Errorf("%.20s…: %v, want %v", pattern, got, want)
		}
	}
}
