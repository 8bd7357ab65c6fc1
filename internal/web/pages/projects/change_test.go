package projects

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/alds-dev/alds/internal/web/ui"
)

// TestCommandOf checks which command the toolbar and the cells send, and which values they refuse.
func TestCommandOf(t *testing.T) {
	p := &project{Oid: "Scope:1", Whole: []string{"Scope:1", "Scope:2"}, Below: true}
	const before = `{"filter":["ID=$Items","Scope=$Projects"],"from":"PrimaryWorkitem","update":`
	const after = `,"with":{"$Items":["Story:1","Defect:2"],"$Projects":["Scope:1","Scope:2"]}}`
	const nobody = `"remove":{"filter":["OwnedWorkitems='Story:1','Defect:2'"],"from":"Member"}`
	for set, want := range map[string]string{
		"status=StoryStatus:134":      `{"Status":"StoryStatus:134"}`,
		"status=none":                 `{"Status":null}`,
		"sprint=Timebox:7":            `{"Timebox":"Timebox:7"}`,
		"priority=WorkitemPriority:3": `{"Priority":"WorkitemPriority:3"}`,
		"project=Scope:9":             `{"Scope":"Scope:9"}`,
		"owner=me":                    `{"Owners":{"add":["Member:20"],` + nobody + `}}`,
		"owner=Member:30":             `{"Owners":{"add":["Member:30"],` + nobody + `}}`,
		"owner=none":                  `{"Owners":{` + nobody + `}}`,
		"estimate=0,5":                `{"Estimate":0.5}`,
		"estimate=":                   `{"Estimate":null}`,
		"tag=late":                    `{"TaggedWith":{"add":["late"]}}`,
		"name=a=b":                    `{"Name":"a=b"}`,
		"project=none":                "",
		"status=Timebox:7":            "",
		"status=StoryStatus:1'":       "",
		"sprint=x":                    "",
		"owner=Story:1":               "",
		"estimate=-3":                 "",
		"estimate=NaN":                "",
		"estimate=1e999":              "",
		"estimate=two":                "",
		"tag=":                        "",
		"name=":                       "",
		"Scope=Scope:9":               "",
		"":                            "",
		"Delete":                      "",
	} {
		c, done, err := commandOf(p, []string{"Story:1", "Defect:2"}, set, "Member:20")
		if want == "" {
			if refused, _ := ui.AsError(err); refused == nil || refused.Status != http.StatusBadRequest {
				t.Errorf("%q: %v", set, err)
			}
			continue
		}
		got, _ := json.Marshal(c)
		if want := before + want + after; err != nil || done != "items" || string(got) != want {
			t.Errorf("%q: %v %s\n%s, want\n%s", set, err, done, got, want)
		}
	}
	for set, want := range map[string]string{"close": "QuickClose AssetState='Active' closed", "reopen": "Reactivate AssetState='Closed' reopened", "delete": "Delete AssetState='Active','Closed' deleted"} {
		c, done, err := commandOf(p, []string{"Story:1"}, set, "Member:20")
		if got := c["execute"].(string) + " " + c["filter"].([]string)[2] + " " + done; err != nil || got != want || c["update"] != nil {
			t.Errorf("%s: %v, %s", set, err, got)
		}
	}
}

func TestRankCommands(t *testing.T) {
	p := &project{Oid: "Scope:1"}
	for place, want := range map[string]string{"Before": "Story:1 Story:2 ", "After": "Story:2 Story:1 "} {
		got := ""
		for _, c := range rankCommands(p, []string{"Story:1", "Story:9", "Story:2"}, place, "Story:9") {
			got += c.(command)["from"].(string) + " "
		}
		if got != want {
			t.Errorf("%s: %s", place, got)
		}
	}
}

// TestSelected checks which items a form changes, and what its buttons and fields mean.
func TestSelected(t *testing.T) {
	visit := func(form url.Values) *ui.Visit {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.PostForm = form
		return &ui.Visit{Request: r}
	}
	for want, items := range map[int][]string{2: {"Story:1", "Defect:2", "Story:1"}, 0: nil, -1: {"Story:1", "Scope:1"}} {
		got, err := selected(visit(url.Values{"item": items}))
		if (err == nil) != (want > 0) || want > 0 && len(got) != want {
			t.Errorf("%v: %v %v", items, got, err)
		}
	}
	for want, form := range map[string]url.Values{
		"status=none":  {"set": {"status=none"}, "estimate": {"3"}},
		"estimate=3":   {"set": {"estimate"}, "estimate": {"3"}, "tag": {"x"}},
		"estimate=":    {"set": {"estimate"}, "estimate": {""}},
		"tag=late":     {"set": {""}, "estimate": {""}, "tag": {" late "}},
		"target=S-123": {"set": {""}, "target": {"S-123"}},
		"":             {"set": {""}},
		"delete":       {"set": {"delete"}, "tag": {"x"}},
	} {
		if got := setOf(visit(form)); got != want {
			t.Errorf("%v: %q, want %q", form, got, want)
		}
	}
}

func TestSums(t *testing.T) {
	p := &project{Oid: "Scope:1"}
	f := filter{Find: "pay", Type: "Story", Owner: "ann", Sprint: "Timebox:7"}
	q, count, points := f.sums(p)
	const items = `Workitems:Story[AssetState='Active';Timebox='Timebox:7';(Owners.Name~=$Owner|Owners.Nickname~=$Owner);(Name~=$Find|Number~=$Find|Reference~=$Find)]`
	if count != items+".@Count" || points != items+".Estimate.@Sum" {
		t.Errorf("%s, %s", count, points)
	}
	if got, _ := json.Marshal(q["with"]); string(got) != `{"$Find":["pay"],"$Owner":["ann"],"$Projects":["Scope:1"]}` {
		t.Errorf("with %s", got)
	}
	for want, total := range map[string]total{"1 item": {1, 0}, "38 items · 121.5 points": {38, 121.5}, "1,000 items · 1,990 points": {1000, 1990}, "0 items": {}} {
		if got := total.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
