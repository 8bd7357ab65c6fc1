package home

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

// TestAsNumber checks which texts are numbers of assets.
func TestAsNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"S-01001": "[S-01001]", "s-1001": "[S-01001]", " TK-7 ": "[TK-00007]", "S-1234567": "[S-1234567]", "S-0001001": "[S-01001]",
		"1001": "[S-01001 D-01001 E-01001 TK-01001 AT-01001 TS-01001 TH-01001 I-01001 R-01001 G-01001]",
		"pay":  "[]", "S-": "[]", "ABCD-1": "[]", "1001 pay": "[]", "": "[]", "1234567890": "[]",
	} {
		if got := fmt.Sprint(asNumber(text)); got != want {
			t.Errorf("%q means %s, want %s", text, got, want)
		}
	}
}

// TestSearchQueries checks what is asked for a text, and that each query has a limit.
func TestSearchQueries(t *testing.T) {
	t.Parallel()
	items := func(filter string) []string {
		return []string{"Workitem " + filter + " AssetType=$Types", "BaseAsset " + filter + " AssetType=$Types"}
	}
	for text, want := range map[string][]string{
		"S-1001": {"BaseAsset Number=$Numbers AssetState!=$Dead"},
		"1001":   append(append([]string{"BaseAsset Number=$Numbers AssetState!=$Dead"}, items("AssetState!=$Dead Name~=$W0")...), "Member AssetState!=$Dead Name~=$W0|Nickname~=$W0|Username~=$W0"),
		"Pay  card": append(items("AssetState!=$Dead Name~=$W0 Name~=$W1"),
			"Member AssetState!=$Dead Name~=$W0|Nickname~=$W0|Username~=$W0 Name~=$W1|Nickname~=$W1|Username~=$W1"),
	} {
		var got []string
		for _, q := range searchQueries(text) {
			got = append(got, q["from"].(string)+" "+strings.Join(q["filter"].([]string), " "))
			if size := q["page"].(map[string]int)["size"]; size < 1 || size > maxFound+1 {
				t.Errorf("%q: a query for %d rows", text, size)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q asks\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for word, want := range map[string]string{"pay": "pay", "100%": "*100%*", "a*b": "*a*b*"} {
		if got := pattern(word); got != want {
			t.Errorf("%q is searched as %q, want %q", word, got, want)
		}
	}
	if n := len(searchQueries(strings.Repeat("a ", 100))[0]["with"].(map[string]any)); n != maxWords+2 {
		t.Errorf("a hundred words need %d variables", n)
	}
}

// TestResults checks that there are at most maxFound results, each once, in the order of the groups.
func TestResults(t *testing.T) {
	t.Parallel()
	several := func(n int, typ string) (all []hit) {
		for i := range n {
			all = append(all, hit{Oid: fmt.Sprintf("%s:%d", typ, i+1), Type: typ})
		}
		return all
	}
	r := results{ByNumber: several(1, "Story")}
	r.group(append(several(15, "Story"), several(10, "Task")...), several(3, "Scope"), several(2, "Member"))
	text := ""
	for _, k := range r.Kinds {
		text += fmt.Sprintf("%s %d, ", k.Title, len(k.Hits))
	}
	if want := "Backlog items 14, Projects 3, People 2, "; text != want || !r.More {
		t.Errorf("the groups are %s, more: %v; want %s", text, r.More, want)
	}
	if got, want := r.Kinds[1].Hits[0].Path()+" "+r.Kinds[2].Hits[0].Path(), "/ui/project/Scope:1 /ui/open?owner=Member%3A1"; got != want {
		t.Errorf("a project and a member lead to %s, want %s", got, want)
	}
}

// TestWorkQueries checks that each query of the first page has a limit.
func TestWorkQueries(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 20, 10, 0, 0, 0, time.UTC)
	for _, q := range append(workQueries("Member:20", now), changesQuery("Member:20", now)) {
		if size := q["page"].(map[string]int)["size"]; size < 1 || size > maxItems+1 {
			t.Errorf("%s: a query for %d rows", q["from"], size)
		}
		if since, has := q["with"].(map[string]any)["$Since"]; has && !slices.Contains([]string{"[2026-05-06]", "[2026-04-20]"}, fmt.Sprint(since)) {
			t.Errorf("%s: since %s", q["from"], since)
		}
	}
}

// TestGroups checks that items are put together by project and sprint.
func TestGroups(t *testing.T) {
	t.Parallel()
	of := func(scope, sprint string) item {
		return item{Scope: ui.Reference{Oid: scope}, In: ui.Reference{Oid: sprint}}
	}
	items := []item{of("Scope:1", "NULL"), of("Scope:1", "Timebox:1"), of("Scope:1", "Timebox:1"), of("Scope:2", "Timebox:1"), of("Scope:2", "")}
	text := ""
	for _, g := range groups(items) {
		text += fmt.Sprintf("%s %q %d, ", g.Scope, g.Sprint, len(g.Items))
	}
	if want := `Scope:1 "" 1, Scope:1 "Timebox:1" 2, Scope:2 "Timebox:1" 1, Scope:2 "" 1, `; text != want {
		t.Errorf("the groups are %s", text)
	}
}

// TestSprintDays checks the days of a sprint and its project.
func TestSprintDays(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]int{"2026-05-04T00:00:00Z": 10, "2026-05-14T23:59:59Z": 0, "2026-05-16T08:00:00Z": -2} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		s := sprint{Oid: "Timebox:1", Begin: "2026-05-01", End: "2026-05-15T00:00:00"}
		in := ui.Reference{Oid: "Timebox:1"}
		s.complete([]item{{In: ui.Reference{Oid: "Timebox:2"}, Scope: ui.Reference{Oid: "Scope:1"}}, {In: in, Scope: ui.Reference{Oid: "Scope:2"}}}, at)
		if s.Days != want || s.Scope != "Scope:2" || s.Last.Format(time.DateOnly) != "2026-05-14" {
			t.Errorf("at %s: %d days, to %s, %s", now, s.Days, s.Last, s.Scope)
		}
	}
}

// TestChangeSays checks what is said about the latest version of an item.
func TestChangeSays(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		`{"Prior": {"_oid": "NULL"}, "AssetState": "Active"}`: "New",
		`{"Prior": {"_oid": "Story:1"}, "AssetState": "Closed", "Prior.AssetState": "Active", "Status.Name": "Done", "Prior.Status.Name": "In Progress"}`:            "Closed; Status: In Progress → Done",
		`{"Prior": {"_oid": "Story:1"}, "AssetState": "Active", "Prior.AssetState": "Active", "Estimate": "3", "Prior.Estimate": null, "Prior.Timebox.Name": "May"}`: "Sprint: May → none; Estimate: 3",
		`{"Prior": {"_oid": "Story:1"}, "AssetState": "Active", "Prior.AssetState": "Active"}`:                                                                       "Other fields",
	} {
		var c change
		if err := json.Unmarshal([]byte(row), &c); err != nil {
			t.Fatal(err)
		}
		if got := c.says(); got != want {
			t.Errorf("%s says %q, want %q", row, got, want)
		}
	}
}
