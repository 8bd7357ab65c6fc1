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

	// named are a package and the tests of it in a cell of docs/security.md.
	named = regexp.MustCompile("`([a-z/]+)`((?:,? Test[A-Za-z0-9]+(?: \\([^)]*\\))?)+)")
)

// TestSecurityNamesTests: every test that docs/security.md names is there, in the
// package that it says.
func TestSecurityNamesTests(t *testing.T) {
	tests := map[string]bool{}
	files(t, func(file string) {
		pkg, ours := strings.CutPrefix(path.Dir(file), "internal/")
		if !ours || !strings.HasSuffix(file, "_test.go") {
			return
		}
		pkg = strings.TrimPrefix(pkg, "test/")
		for _, m := range declared.FindAllSubmatch(read(t, file), -1) {
			tests[pkg+"."+string(m[1])] = true
		}
	})
	text := string(read(t, "docs/security.md"))
	seen := 0
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		for _, name := range testName.FindAllString(m[2], -1) {
			if seen++; !tests[m[1]+"."+name] {
				t.Errorf("docs/security.md names %s of %s, which is not there", name, m[1])
			}
		}
	}
	if all := len(testName.FindAllString(text, -1)) - strings.Count(text, "-run Test"); seen != all || all == 0 {
		t.Errorf("%d of %d tests stand behind the name of their package", seen, all)
	}
}
