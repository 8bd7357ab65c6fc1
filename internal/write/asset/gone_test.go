package asset_test

import (
	"testing"

	"github.com/alds-dev/alds/internal/write/asset"
)

// TestAnAssetThatIsDeletedMeanwhile sends commands on assets that another request has deleted since the lookup. They
// change nothing, but a name that the type does not have still fails.
func TestAnAssetThatIsDeletedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		story := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"))[0]
		w.must(operate(story, "Delete"))
		found := func(c *asset.Command) *asset.Command { c.TargetLive = true; return c }
		for _, c := range []struct {
			command *asset.Command
			want    string
		}{
			{operate(story, "Close"), ""},
			{operate(story, "Activate"), "Unknown Operation 'Story.Activate'"},
			{update(story, "Name", "T"), ""},
			{update(story, "Nome", "T"), "Unknown AttributeDefinition: Story.Nome"},
		} {
			got := ""
			if out := w.run(found(c.command))[0]; out.Err != nil {
				got = out.Err.Error()
			} else if !out.Skipped {
				got = "it was not skipped"
			}
			if got != c.want {
				t.Errorf("%+v: %q, want %q", c.command, got, c.want)
			}
		}
	})
}
