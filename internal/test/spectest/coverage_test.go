package spectest

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
)

// unshown are the sections of docs/interface.md that need no case. They define terms, or describe what the
// service does not do yet, or describe time limits that tests of other packages check.
var unshown = map[string]bool{
	"1": true, "1.1": true, "2.1.1": true, "2.1.3": true, "2.2": true, "2.2.7": true, "2.8": true, "4.5": true,
	"5.4": true, "5.7": true, "6.2.6": true, "10.5": true, "13": true,
}

// sourceForm matches a source that a case may name: a section of docs/interface.md, or a decision in
// docs/decisions.md.
var sourceForm = regexp.MustCompile(`^(interface \d+(\.\d+)*|decision \d+)$`)

// numbered matches the heading of a section of docs/interface.md.
var numbered = regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)*)\.? .*$`)

// TestCoverage checks that every section of docs/interface.md that describes behavior has a case or an
// example.
func TestCoverage(t *testing.T) {
	shown := map[string]int{}
	cite := func(file, sources string) {
		for source := range strings.SplitSeq(sources, ",") {
			source = strings.TrimSpace(source)
			if !sourceForm.MatchString(source) {
				t.Errorf("%s: source %q is neither a section of the interface nor a decision", file, source)
			}
			if section, ok := strings.CutPrefix(source, "interface "); ok {
				shown[section]++
			}
		}
	}
	for _, c := range loadCases(t) {
		cite(c.file, c.source)
	}
	for _, table := range loadBad(t) {
		cite(table.file, table.source)
	}
	text, err := os.ReadFile("../../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := maps.Clone(unshown)
	headings := numbered.FindAllSubmatchIndex(text, -1)
	for i, m := range headings {
		section, end := string(text[m[2]:m[3]]), len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		delete(missing, section)
		says := strings.TrimSpace(string(text[m[1]:end]))
		if says == "" || shown[section] > 0 || strings.Contains(says, "```http answer") || unshown[section] {
			continue
		}
		t.Errorf("interface %s has neither a case nor an example", section)
	}
	for section := range missing {
		t.Errorf("there is no section %s", section)
	}
	t.Logf("%d sections of the interface, %d of them named by cases", len(headings), len(shown))
}
