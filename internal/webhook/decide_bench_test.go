package webhook

import (
	"testing"

	"github.com/alds-dev/alds/internal/change"
)

// BenchmarkDecide is the cost of one filter that does not match.
func BenchmarkDecide(b *testing.B) {
	c := memoryFilter(model, "Story", []string{"Estimate>'100'"}, nil)
	story, _ := model.Type("Story")
	v := &change.Version{Type: story, Columns: make([]any, len(model.Columns))}
	a, _ := story.Attr("Estimate")
	v.Columns[a.Place.Slot] = 3.0
	for b.Loop() {
		if decide(c, v) != no {
			b.Fatal("it matches")
		}
	}
}
