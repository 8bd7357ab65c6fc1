package archtest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile(`Test[A-Za-z0-9]+`)
	declared = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)

	// named matches the name of a package that is followed by names of its tests, in a document.
	named = regexp.MustCompile("`([a-z/]+)`((?:,? Test[A-Za-z0-9]+(?: \\([^)]*\\))?)+)")
)

// TestDocumentsNameTests checks that every test named in docs/security.md and docs/limits.md exists in the
// named package.
func TestDocumentsNameTests(t *testing.T) {
	tests := map[string]bool{}
	files(t, func(file string) {
		pkg, ours := strings.CutPrefix(path.Dir(file), "internal/")
		if !ours || !strings.HasSuffix(file, "_test.go") {
			return
		}
		if _, inFolder, found := strings.Cut(pkg, "/"); found {
			pkg = inFolder
		}
		for _, m := range declared.FindAllSubmatch(read(t, file), -1) {
			tests[pkg+"."+string(m[1])] = true
		}
	})
	for _, file := range []string{"docs/security.md", "docs/limits.md"} {
		text := string(read(t, file))
		seen := 0
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			for _, name := range testName.FindAllString(m[2], -1) {
				if seen++; !tests[m[1]+"."+name] {
					t.Errorf("%s names %s of %s, which is not there", file, name, m[1])
				}
			}
		}
		if all := len(testName.FindAllString(text, -1)) - strings.Count(text, "-run Test"); seen != all || all == 0 {
			t.Errorf("%s: %d of %d tests stand behind the name of their package", file, seen, all)
		}
	}
}
