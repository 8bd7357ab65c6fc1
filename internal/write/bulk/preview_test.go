package bulk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// A client may send the projection of a request instead of the request. The effect is the same.
func TestProjectionPostedBack(t *testing.T) {
	before := `[{"AssetType":"Story","Name":"A","Scope":"Scope:0","Status":"Done","Owners":"Member:20","TaggedWith":["x","y"]},
 {"AssetType":"Story","Name":"B","Scope":"Scope:0","Status":"Done"}]`
	payloads := []string{
		`{"AssetType":"Epic","Name":"E","Scope":"Scope:0","Subs":[{"AssetType":"Story","Name":"S","Children":[{"AssetType":"Task","Name":"T"}]},"Story:1001"]}`,
		`[{"@e":{"AssetType":"Epic","Name":"E","Scope":"Scope:0","Subs":[{"@s":{"AssetType":"Story","Name":"S"}}]}},{"from":"@s","update":{"Name":"S2"}},{"from":"Story","where":{"Super":"@e"},"execute":"Delete"}]`,
		`{"AssetType":"Story","Name":"Hub","Scope":"Scope:0","Dependants":[{"AssetType":"Story","Name":"Spoke"},"Story:1002"],"Super":{"AssetType":"Epic","Name":"Above","Scope":"Scope:0"}}`,
		`{"@t":{"AssetType":"Theme","Name":"T","Scope":"Scope:0","Parent":{"AssetType":"Theme","Name":"Above","Scope":"Scope:0"}}}`,
		`{"from":"Story","where":{"Status":"StoryStatus:135"},"update":{"Status":null,"Estimate":3,"Owners":{"remove":"Member:20"},"Name":{"find":"A","replace":"Alpha"},"TaggedWith":"z","Subs":[]}}`,
		`{"from":"Story:1001","update":{"Children":[{"AssetType":"Task","Name":"T"}],"Order":{"After":"Story:1002"},"Dependencies":{"Story:1002":"add"}}}`,
		`[{"from":"Story:1002","execute":{"op":"Inactivate"}},{"from":"Scope:0","execute":{"op":"AssignMemberWithRole","list":[{"Member":"Member:20","Role":"Role:2","IsOwner":false},{"Member":{"from":"Member"},"Role":"Tester"}]}}]`,
	}
	look := `[{"from":"Workitem","select":["Name","Status","Super","Parent","Scope","AssetState","Owners","Dependencies","TaggedWith"],"sort":["ID"]},{"from":"Scope","select":["Members"]}]`
	for _, payload := range payloads {
		var seen []string
		for _, back := range []bool{false, true} {
			e := engine(t, testdb.SQLite(t))
			body := []byte(payload)
			run(t, e, before, false)
			if back {
				body = run(t, e, payload, true)
			}
			answer := run(t, e, string(body), false)
			seen = append(seen, normal(answer)+normal(run(t, e, look, false)))
		}
		if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
			t.Errorf("%s: directly and by its projection differ:\n%s", payload, diff)
		}
		var r struct{ CommandFailures struct{ Count int } }
		if err := json.NewDecoder(strings.NewReader(seen[0])).Decode(&r); err != nil || r.CommandFailures.Count > 0 {
			t.Errorf("%s fails: %v\n%s", payload, err, seen[0])
		}
	}
}

func run(t *testing.T, e *bulk.Engine, body string, preview bool) []byte {
	t.Helper()
	out, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body), Preview: preview})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
