package clienttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestFormsOfAnswers calls each tool in the ways that a task seldom needs: wrong arguments, limits of the token,
// structured answers, intervals of time, and long lists that go on.
func TestFormsOfAnswers(t *testing.T) {
	o := openOffice(t)
	full := connectAgent(t, o.base, tokenWith(t, o.base, `{"deletes": false, "changes": 5000, "hourly": 90000}`), newProtocol, nil)
	ask := func(tool, arguments, want string, isError bool) string {
		t.Helper()
		var a map[string]any
		if err := json.Unmarshal([]byte(o.fill(arguments)), &a); err != nil {
			t.Fatalf("%s: %v", arguments, err)
		}
		got, failed := full.tries(tool, a)
		if failed != isError || !strings.Contains(got, o.fill(want)) {
			t.Errorf("%s %s: error %v, %.600s; want %q", tool, arguments, failed, got, want)
		}
		return got
	}
	for _, c := range []struct {
		tool, arguments, want string
		isError               bool
	}{
		{"context", `{}`, "deletes nothing", false},
		{"context", `{}`, "at most 5000 changes with one apply", false},
		{"context", `{}`, "at most 90000 changes in an hour", false},
		{"apply", `{}`, "apply needs plan and assets", true},
		{"describe", `{}`, "describe needs names or words", true},
		{"describe", `{"names": ["a","b","c","d","e","f","g","h","i","j","k"]}`, "describe takes at most 10 names", true},
		{"describe", `{"names": ["Workitem"]}`, "abstract", false},
		{"query", `{}`, "query needs from", true},
		{"query", `{"from": "Story", "size": 501}`, "", true},
		{"query", `{"from": "Issue"}`, "Number|Name|AssetState", false},
		{"query", `{"from": "Expression"}`, "", false},
		{"query", `{"from": "Timebox"}`, "In all rows: State.Name = Active", false},
		{"query", `{"from": "Story", "structured": true, "where": {"Name": "nothing has this name"}}`, `"rows":[]`, false},
		{"query", `{"from": "S-99999"}`, "", true},
		{"history", `{"asset": "Story:99999"}`, "", true},
		{"history", `{"asset": "no such thing"}`, "Invalid OID token: no such thing", true},
		{"history", `{"asset": "{shop}", "since": "2020-01-01", "until": "some day"}`, "is not an instant", true},
		{"history", `{"asset": "{shop}", "since": "2020-01-01", "until": "2020-02-01"}`, "", false},
		{"history", `{"asset": "{shop}", "structured": true, "size": 2}`, `"items"`, false},
		{"history", `{"from": "Story"}`, "history of a query needs since", true},
		{"plan", `{"commands": [{"from": "Story:99999", "update": {"Name": "x"}}, {"from": "{pay}", "update": {"Name": "payment"}}]}`, "1 changed (1 Story)", false},
		{"plan", `{"commands": [{"from": "{pay}", "update": {"Status": "no such status"}}]}`, "refused", false},
		{"changes", `{"wait": 31}`, "", true},
	} {
		ask(c.tool, c.arguments, c.want, c.isError)
	}

	next := cursor.FindStringSubmatch(ask("changes", `{"from": "PrimaryWorkitem"}`, "next: ", false))[1]
	before := o.now()
	o.admin(`[{"from": "{wrap}", "update": {"Owners": {"remove": "{bob}"}, "Estimate": 13, "Description": "` + strings.Repeat("long ", 3000) + `"}}, {"from": "{list}", "update": {"Timebox": "{sprint 3}"}}]`)
	o.admin(`{"AssetType": "Story", "Name": "added", "Scope": "{shop}", "Timebox": "{sprint 2}"}`)
	after := o.now()
	ask("changes", `{"from": "PrimaryWorkitem", "select": ["Name"], "next": "`+next+`"}`, "Owners - {bob}", false)
	ask("changes", `{"from": "PrimaryWorkitem", "select": ["Name"], "next": "`+next+`"}`, "now Name = added", false)
	ask("changes", `{"from": "PrimaryWorkitem", "structured": true, "next": "`+next+`"}`, `"cut":true`, false)
	sprint := `{"from": "PrimaryWorkitem", "where": {"Timebox": "{sprint 2}"}, "select": ["Name", "Estimate", "Owners.Name"], "since": "` + before + `", "until": "` + after + `"`
	ask("history", sprint+`}`, "1 gone, 1 added, 1 changed", false)
	ask("history", sprint+`, "structured": true}`, `"added":[`, false)
	ask("history", `{"from": "PrimaryWorkitem", "select": ["Estimate"], "since": "`+before+`"}`, "Changed:", false)
	ask("history", `{"asset": "{wrap}", "since": "`+before+`", "until": "`+after+`"}`, "Owners - ", false)

	many := make([]string, 400)
	for i := range many {
		many[i] = fmt.Sprintf(`{"AssetType": "Story", "Name": "planned %d", "Scope": "{shop}", "Description": "%s"}`, i, strings.Repeat("words ", 20))
	}
	planned := ask("plan", `{"commands": [`+strings.Join(many, ",")+`]}`, "more changes: call plan with plan", false)
	plan := planID.FindStringSubmatch(planned)[1]
	ask("plan", `{"plan": "`+plan+`", "next": "100"}`, "planned", false)
	ask("plan", `{"plan": "`+plan+`", "next": "none"}`, "is no next of this plan", true)
	ask("plan", `{"plan": "`+plan+`", "structured": true}`, `"next":`, false)
	write := requestID.FindStringSubmatch(ask("apply", `{"plan": "`+plan+`", "assets": 400}`, "Request ", false))[1]
	ask("plan", `{"plan": "`+plan+`"}`, "was applied", false)
	ask("history", `{"request": "`+write+`"}`, "more refusals", false)
	ask("history", `{"from": "Story", "since": "`+after+`", "select": ["Name", "Description"]}`, "The answer is cut", false)
	ask("query", `{"from": "Story", "select": ["Name", "Description"], "size": 500}`, "next: ", false)
	ask("query", `{"from": "Story", "select": ["Name", "Description"], "size": 500, "structured": true}`, `"next":`, false)
	o.admin(`{"from": "Story", "where": {"Name": "planned 7"}, "update": {"Name": "changed since"}}`)
	ask("plan", `{"undo": {"requestId": "`+write+`", "conflicts": "skip"}}`, "conflict", false)
}
