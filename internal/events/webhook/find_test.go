package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestChangesShowValuesAsQueryRowsDo checks that a change and the snapshot in the same event
// contain equal values.
func TestChangesShowValuesAsQueryRowsDo(t *testing.T) {
	attributes := map[string]any{
		"Name": "<i>\"ü\u2028", "Description": "a\nb", "Estimate": 0.1, "Value": 1e22, "Order": int64(1) << 40,
		"AssetState": nil, "Scope": nil, "Status": nil, "Super": nil, "Reference": nil, "IsReopened": nil,
	}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		f.s.events.Find = find.New(d, model)
		s := newSink(t, nil)
		w := f.worker(delivery.Options{})
		f.write(20,
			edit{asset: 0, typ: "Scope", set: map[string]any{"name": "All", "scope_id": 0}},
			edit{asset: 1500, typ: "Epic", set: map[string]any{"name": "E", "scope_id": 0}},
			edit{asset: 1501, typ: "StoryStatus", set: map[string]any{"name": "Done"}},
		)
		id := f.story("a")
		story, _ := model.Type("Story")
		var sel []any
		for name := range attributes {
			if _, ok := story.Attr(name); ok {
				sel = append(sel, name)
			}
		}
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{map[string]any{
			"type": "AssetChanged", "from": "Story", "select": sel, "filter": []any{"Estimate>'0'"},
		}}})
		f.write(20, edit{asset: id, set: map[string]any{
			"name": attributes["Name"], "description": attributes["Description"], "estimate": attributes["Estimate"],
			"value": attributes["Value"], "order_key": attributes["Order"], "state": 208, "scope_id": 0, "status_id": 1501,
			"super_id": 1500, "attrs": `{"Reference":"r"}`,
		}})
		f.write(20, edit{asset: id, set: map[string]any{"state": 255, "super_id": nil, "attrs": nil}})
		f.fanOut(w)
		f.eventually(w, "two events", func() bool { return len(s.sequence()) == 2 })
		for _, e := range s.events {
			rows, _ := e["snapshot"].([]any)
			if len(rows) != 1 {
				t.Fatalf("the snapshot of %v is %v", e["sequenceId"], e["snapshot"])
			}
			row, _ := rows[0].(map[string]any)
			changes, _ := e["changes"].([]any)
			if len(changes) < 3 {
				t.Errorf("the changes are %v", changes)
			}
			for _, c := range changes {
				c, _ := c.(map[string]any)
				name, _ := c["name"].(string)
				if diff := cmp.Diff(row[name], c["new"]); diff != "" {
					t.Errorf("%s: snapshot and change differ: %s", name, diff)
				}
			}
		}
	})
}

// TestDefinitionsAreCheckedByTheModel checks the error messages for tokens that the model does not
// allow.
func TestDefinitionsAreCheckedByTheModel(t *testing.T) {
	f := newFixture(t, testdb.SQLite(t))
	f.s.events.Find = find.New(f.d, model)
	for body, message := range map[string]string{
		`{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","attributes":["Nope"]}]}`:            "Unknown AttributeDefinition: Story.Nope",
		`{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","select":["Scope.Nope"]}]}`:          "Unknown AttributeDefinition: Scope.Nope",
		`{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","filter":["Status.Name="]}]}`:        "Invalid QueryFilter2 token Status.Name=",
		`{"url":"http://a.test","eventTypes":[{"type":"AssetChanged","from":"Story","filter":["Name=$x"],"with":null}]}`: "",
	} {
		_, err := f.s.Create(t.Context(), f.who, []byte(body))
		if err == nil || message != "" && err.Error() != message {
			t.Errorf("%s: %v", body, err)
		}
	}
}
