package console

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/web/ui"
)

// TestLongReplacements checks that a text which becomes too long by replacements is not shown.
func TestLongReplacements(t *testing.T) {
	text := any("a")
	long := jsonObject{{Name: "find", Value: "a"}, {Name: "replace", Value: strings.Repeat("a", 1000)}}
	for range 5 {
		pieces, after := changeOf(text, long, true, nil, new(ui.Differences))
		n := 0
		for _, p := range pieces {
			n += len(p.Text)
		}
		if s, _ := after.(string); n > maxReplaced || len(s) > maxReplaced {
			t.Fatalf("%d bytes are shown, the text has %d", n, len(s))
		}
		text = after
	}
}
