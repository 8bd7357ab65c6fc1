package bulk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// done has the counts of an answer.
type done struct {
	Created struct {
		Tokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	Modified struct{ Count int } `json:"assetsModified"`
	Operated struct{ Count int } `json:"assetsOperatedOn"`
	Failed   struct{ Count int } `json:"commandFailures"`
}

// TestFoundByOne checks that a command changes an asset only if the query of the command still
// matches the asset at the time of the change. Several clients change the asset at once. After the
// first change the query no longer matches, so exactly one client changes the asset.
func TestFoundByOne(t *testing.T) {
	for _, c := range []struct{ what, request string }{
		{"claimed by filter", `{"from": "Story", "filter": ["Reference=''"], "update": {"Reference": "client %d"}}`},
		{"the first is claimed", `{"from": "Story", "where": {"Reference": ""}, "sort": ["Name"], "page": {"size": 1, "start": 0}, "update": {"Reference": "client %d"}}`},
		{"claimed by alias", `[{"@e": {"AssetType": "Epic", "Name": "E", "Scope": "Scope:0"}}, {"from": "Story", "filter": ["Reference='','@e'"], "update": {"Reference": "client %d", "Super": "@e"}}]`},
		{"claimed by its owner", `{"from": "Story", "filter": ["Owners.@Count='0'"], "update": {"Owners": {"AssetType": "Member", "Name": "M%[1]d", "Nickname": "m", "DefaultRole": "Role:4"}}}`},
		{"closed by state", `{"from": "Story", "where": {"AssetState": "Active"}, "execute": "Inactivate"}`},
		{"deleted by Oid", `{"from": "STORY", "execute": "Delete"}`},
		{"by Oid and state", `{"from": "STORY", "where": {"Reference": ""}, "update": {"Reference": "client %d"}}`},
	} {
		t.Run(c.what, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, d *db.DB) {
				e := engine(t, d)
				for range 10 {
					story := ask(t, e, `{"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}`).Created.Tokens[0]
					answers := make([]done, 4)
					var wait sync.WaitGroup
					for i := range answers {
						wait.Go(func() {
							request := strings.ReplaceAll(c.request, "STORY", story)
							if strings.Contains(request, "%") {
								request = fmt.Sprintf(request, i)
							}
							answers[i] = ask(t, e, request)
						})
					}
					wait.Wait()
					changed, failed := 0, 0
					for _, a := range answers {
						changed += a.Modified.Count + a.Operated.Count
						failed += a.Failed.Count
					}
					if changed != 1 || failed != 0 {
						t.Fatalf("%d of %d requests changed the one asset, %d failed", changed, len(answers), failed)
					}
				}
			})
		})
	}
}

// An update or operation with a page finds its assets, locks them, and finds them again under the
// lock. The limits for a query from a client do not apply to the second query. If the page is
// empty, there is no second query.
func TestFoundOnAPage(t *testing.T) {
	filter := strings.Repeat("Name='S'|", 198) + "Name='S'" // with where: the largest number of comparisons in a query
	for _, c := range []struct {
		what, request string
		want          int
	}{
		{"nothing", `{"from": "Story", "where": {"Name": "none"}, "page": {"size": 3, "start": 0}, "update": {"Reference": "r"}}`, 0},
		{"nothing beside something", `[{"from": "STORY", "where": {"Name": "S"}, "update": {"Estimate": 1}},
			{"from": "Story", "where": {"Name": "none"}, "page": {"size": 3, "start": 0}, "execute": "Delete"}]`, 1},
		{"as many comparisons as a query may have", `{"from": "Story", "where": {"Name": "S"}, "filter": ["` + filter + `"],
			"page": {"size": 3, "start": 0}, "update": {"Reference": "r"}}`, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, d *db.DB) {
				e := engine(t, d)
				story := ask(t, e, `{"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}`).Created.Tokens[0]
				got := ask(t, e, strings.ReplaceAll(c.request, "STORY", story))
				if got.Modified.Count != c.want || got.Operated.Count != 0 || got.Failed.Count != 0 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func ask(t *testing.T, e *bulk.Engine, request string) (answer done) {
	got, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(request)})
	if err == nil {
		err = json.Unmarshal(got, &answer)
	}
	if err != nil {
		t.Errorf("%s: %v", request, err)
	}
	return answer
}
