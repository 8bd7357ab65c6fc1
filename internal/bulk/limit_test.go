package bulk_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/bulk"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/testdb"
)

func TestLimits(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		e.MaxCommands, e.MaxAssets = 3, 5
		story := `{"AssetType":"Story","Name":"S","Scope":"Scope:0"}`
		for what, c := range map[string]struct{ body, want string }{
			"commands": {"[" + strings.Repeat(story+",", 3) + story + "]", "The request holds more than 3 commands."},
			"nested creates": {
				`{"AssetType":"Epic","Name":"E","Scope":"Scope:0","Subs":[` + strings.Repeat(story+",", 5) + story + `]}`,
				"The request touches more than 5 assets.",
			},
			"assets found":   {`{"from":"StoryStatus","update":{"Description":"x"}}`, ""},
			"too many found": {`{"from":"List","update":{"Description":"x"}}`, "The request touches more than 5 assets."},
		} {
			out, err := e.Run(t.Context(), auth.System, []byte(c.body), false, bulk.Options{})
			if c.want == "" {
				if err != nil || !strings.Contains(string(out), `"count":4}`) {
					t.Errorf("%s: %v %s", what, err, out)
				}
				continue
			}
			if fault.KindOf(err) != fault.Invalid || fault.Public(err) != c.want {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
