package memfilter

import (
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/store/db"
)

// BenchmarkEvaluate measures the evaluation of one filter that does not match.
func BenchmarkEvaluate(b *testing.B) {
	story, _ := model.Type("Story")
	status, _ := story.Attr("Status")
	estimate, _ := story.Attr("Estimate")
	done := change.Version{ID: 1501, Until: db.Forever, Columns: make([]any, len(model.Columns))}
	name, _ := status.Related.Attr("Name")
	done.Type, done.Columns[name.Place.Slot] = status.Related, "Done"
	v := &change.Version{Type: story, Columns: make([]any, len(model.Columns))}
	v.Columns[estimate.Place.Slot], v.Columns[status.Place.Slot] = 3.0, int64(1501)
	for name, filter := range map[string]string{"own": "Estimate>'100'", "related": "Status.Name='In Work'"} {
		b.Run(name, func(b *testing.B) {
			f := New(model, story, []string{filter}, nil, false)
			related := Related{versions: map[int64][]change.Version{1501: {done}}}
			for b.Loop() {
				if f.Evaluate(Input{Version: v, Related: related, Actor: &auth.System}) != False {
					b.Fatal("it matches")
				}
			}
		})
	}
}
