package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGlossary checks that docs/glossary.md has at most sixty words, in alphabetical order and without
// duplicates.
func TestGlossary(t *testing.T) {
	var words []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \|`).FindAllStringSubmatch(string(read(t, "docs/glossary.md")), -1) {
		words = append(words, strings.ToLower(m[1]))
	}
	if len(words) == 0 || len(words) > 60 {
		t.Errorf("%d words, want 1 to 60", len(words))
	}
	for i := 1; i < len(words); i++ {
		if words[i-1] >= words[i] {
			t.Errorf("%q stands before %q", words[i-1], words[i])
		}
	}
	if !slices.Contains(words, "lease") {
		t.Error("the table was not read")
	}
}
