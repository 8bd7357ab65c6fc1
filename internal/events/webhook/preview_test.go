package webhook

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestAPreviewMatchesWhatIsSent compares a preview with the events that were sent to a subscription
// with the same definitions.
func TestAPreviewMatchesWhatIsSent(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		definitions := []any{
			map[string]any{"type": "AssetChanged", "from": "Story", "filter": []any{"Name='wanted'"}},
			map[string]any{"type": "AssetCreated", "from": "Workitem", "userContext": "Member:21"},
			map[string]any{"type": "AssetChanged", "from": "Workitem", "attributes": []any{"Estimate"}, "select": []any{"Name"}},
		}
		f.write(20, edit{asset: 21, typ: "Member", set: map[string]any{"name": "Bo"}})
		f.subscribe(s.URL, map[string]any{"eventTypes": definitions})
		for i := range 60 {
			id := f.story(fmt.Sprint([]string{"secret", "open"}[i%2], i))
			f.rename(id, []string{"wanted", "other", "third"}[i%3])
			if i%5 == 0 {
				f.write(20, edit{asset: id, set: map[string]any{"estimate": 3.0}})
			}
		}
		f.fanOut(w)
		f.eventually(w, "all deliveries", f.settledAll)
		got, err := f.s.Preview(t.Context(), f.who, asJSON(t, map[string]any{"eventTypes": definitions}))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Changes) != previewed || got.Event == nil {
			t.Fatalf("%d changes, event %s", len(got.Changes), got.Event)
		}
		var would []int64
		for _, c := range slices.Backward(got.Changes) {
			if len(c.Definitions) > 0 {
				would = append(would, c.SequenceID)
			} else if c.Why == "" {
				t.Errorf("%d does not match and says not why", c.SequenceID)
			}
		}
		sent := slices.DeleteFunc(s.sequence(), func(id int64) bool { return id < got.Changes[previewed-1].SequenceID })
		slices.Sort(sent)
		if d := cmp.Diff(sent, would); d != "" || got.Matched != len(would) || len(would) == 0 {
			t.Errorf("sent, would be sent (%d):\n%s", got.Matched, d)
		}
	})
}
