package query

import (
	"strings"
	"testing"
)

// TestSimplePatterns checks which patterns count as simple.
func TestSimplePatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		"text%": true, "%text%": true, "%text": true, "%%": true, "%": true, "te|_xt%": true, "%a||b%": true,
		"te%xt%": false, "%te%xt%": false, "%50|%%": false, "%%%": false,
		"%" + strings.Repeat("x", 98) + "%": true, "%" + strings.Repeat("x", 99) + "%": false,
	} {
		if isSimple(pattern) != want {
			t.Errorf("%q: %v", pattern, !want)
		}
	}
}
