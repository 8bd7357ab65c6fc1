package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifference(t *testing.T) {
	long := strings.Repeat("x", maxCompared)
	for name, c := range map[string]struct {
		before, after string
		want          []Piece
	}{
		"nothing":      {"", "", nil},
		"the same":     {"a", "a", []Piece{{Text: "a"}}},
		"new":          {"", "a", []Piece{{Text: "a", Added: true}}},
		"gone":         {"a", "", []Piece{{Text: "a", Removed: true}}},
		"a word":       {"Pay by card", "Pay by cash", []Piece{{Text: "Pay by ca"}, {Text: "rd", Removed: true}, {Text: "sh", Added: true}}},
		"a long text":  {long, "a", []Piece{{Text: long, Removed: true}, {Text: "a", Added: true}}},
		"other script": {"für", "fur", []Piece{{Text: "f"}, {Text: "ü", Removed: true}, {Text: "u", Added: true}, {Text: "r"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Difference(c.before, c.after)); d != "" {
				t.Errorf("want, got:\n%s", d)
			}
		})
	}
}
