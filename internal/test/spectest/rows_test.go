package spectest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rowGroup is a group of rows. A row names a behavior of the interface. In its line "spec:", a case names
// the rows that it shows, as "prefix / row".
type rowGroup struct {
	prefix, about string
	rows          []string
}

// loadRows reads testdata/rows. A line "# prefix: about" begins a group, and each line after it is a row.
func loadRows(t *testing.T) []rowGroup {
	t.Helper()
	var groups []rowGroup
	for _, area := range []string{"query", "bulk", "webhook"} {
		for _, line := range lines(t, "testdata/rows/"+area+".txt") {
			if heading, ok := strings.CutPrefix(line, "# "); ok {
				prefix, about, _ := strings.Cut(heading, ": ")
				groups = append(groups, rowGroup{prefix: prefix, about: about})
				continue
			}
			if len(groups) == 0 {
				t.Fatalf("rows/%s.txt: %q stands in no group", area, line)
			}
			last := &groups[len(groups)-1]
			last.rows = append(last.rows, line)
		}
	}
	return groups
}

// lines returns the lines of a file that are not empty.
func lines(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// TestRows logs how many cases each row has. It fails if a row has no case or is listed twice.
func TestRows(t *testing.T) {
	count, bad := countCases(t)
	seen := map[string]bool{}
	gaps := 0
	for _, group := range loadRows(t) {
		var counts []string
		for _, row := range group.rows {
			name := group.prefix + " / " + row
			if seen[name] {
				t.Errorf("%q stands twice", name)
			}
			seen[name] = true
			if count[name] == 0 {
				gaps++
				t.Errorf("%s: %q has no case", group.about, name)
			}
			counts = append(counts, fmt.Sprintf("%s %d", row, count[name]))
		}
		t.Logf("%s: %s", group.about, strings.Join(counts, ", "))
	}
	t.Logf("%d rows, %d gaps; %d bad inputs", len(seen), gaps, bad)
}

// countCases returns the number of cases for each row, and the number of requests that must be refused.
func countCases(t *testing.T) (count map[string]int, bad int) {
	t.Helper()
	count = map[string]int{}
	add := func(spec string, n int) {
		for name := range strings.SplitSeq(spec, ",") {
			count[strings.TrimSpace(name)] += n
		}
	}
	for _, c := range loadCases(t) {
		add(c.spec, 1)
	}
	for _, table := range loadBad(t) {
		add(table.spec, len(table.rows))
		bad += len(table.rows)
	}
	return count, bad
}

// TestRowsInGo checks that the tests listed in testdata/rows/tests.txt exist. They test rows that a case
// cannot test, because the test needs time, a setting or the database. A line has the form "package.Test:
// row".
func TestRowsInGo(t *testing.T) {
	found := map[string]map[string]bool{}
	rows := lines(t, "testdata/rows/tests.txt")
	for _, line := range rows {
		test, row, _ := strings.Cut(line, ": ")
		pkg, name, _ := strings.Cut(test, ".")
		if found[pkg] == nil {
			found[pkg] = testsOf(t, pkg)
		}
		if !found[pkg][name] {
			t.Errorf("%s: package %s has no %s", row, pkg, name)
		}
	}
	t.Logf("%d rows are shown by tests of packages", len(rows))
}

// testsOf returns the names of the test functions of a package. pkg is the name of the package without the
// folder above it.
func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	var files []string
	for _, below := range []string{"../../", "../../*/"} {
		some, err := filepath.Glob(below + pkg + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
