package spectest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// covered are the sections of the interface that the service answers today;
// each has at least one case.
var covered = []string{
	"2.1", "2.2", "2.3", "2.5", "2.6", "2.7",
	"3",
	"4.1", "4.3", "4.4", "4.6",
	"5",
	"6.1", "6.2",
	"7.1", "7.2",
	"8",
}

// sourceForm is what a case may name as the reason for what it expects: a
// section of the interface, or a decision of docs/decisions.md.
var sourceForm = regexp.MustCompile(`^(interface \d+(\.\d+)?|decision \d+|existing clients)$`)

// TestCoverage makes coverage of the interface a number and not a feeling.
func TestCoverage(t *testing.T) {
	cases := loadCases(t)
	count := map[string]int{}
	for _, c := range cases {
		for source := range strings.SplitSeq(c.source, ",") {
			source = strings.TrimSpace(source)
			if !sourceForm.MatchString(source) {
				t.Errorf("%s: source %q is neither a section of the interface nor a decision", c.file, source)
			}
			if section, ok := strings.CutPrefix(source, "interface "); ok {
				count[section]++
			}
		}
	}
	for _, section := range covered {
		if count[section] == 0 {
			t.Errorf("interface %s has no case", section)
		}
	}
	for section := range count {
		if !slices.Contains(covered, section) {
			t.Errorf("interface %s has cases but is not listed as covered", section)
		}
	}
	t.Logf("%d cases, %d sections of the interface", len(cases), len(covered))
}
