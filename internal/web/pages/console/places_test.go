package console

import (
	"strings"
	"testing"
)

// TestPlaceOf checks that a failure without a position gets the position of the value in its
// message, or of the command's asset or type.
func TestPlaceOf(t *testing.T) {
	const nestedCreate = `[{"config": "atomic"}, {"@e": {"AssetType": "Epic", "Name": "E", "Subs": [{"AssetType": "Story", "Name": "S", "Scope": "Nowhere"}]}}]`
	for name, c := range map[string]struct {
		request   string
		index     int
		projected string
		message   string
		want      string // text at the position
	}{
		"an attribute":          {`[{"AssetType": "Story", "Name": ""}]`, 0, `{"AssetType": "Story", "Name": ""}`, "Violation'Required'Story.Name", `"}]`},
		"a missing attribute":   {`[{"from": "Task"},` + "\n" + `{"AssetType": "Story", "Name": "x"}]`, 1, `{"AssetType": "Story", "Name": "x"}`, "Violation'Required'Story.Scope", `Story", "Name": "x"}]`},
		"of an update":          {`{"from": "Story:1", "update": {"Estimate": "x"}}`, 0, `{"oid": "Story:1", "update": {}}`, "Violation'Invalid'Story.Estimate", `x"}}`},
		"an operation":          {`{"from": "Story:1", "execute": "Close"}`, 0, `{"oid": "Story:1", "execute": {}}`, "Invalid Operation 'Story.Close'", `Close"}`},
		"one with arguments":    {`{"from": "Story:1", "execute": {"op": "Close", "args": {}}}`, 0, `{}`, "Invalid Operation 'Story.Close'", `Close", "args": {}}}`},
		"a denial":              {`{"from": "Story:1", "update": {"Name": "x"}}`, 0, `{}`, "Denied'Story.Change", `Story:1", "update": {"Name": "x"}}`},
		"a nested create":       {nestedCreate, 1, `{"AssetType": "Story", "Name": "S"}`, "Violation'Invalid'Story.Scope", `Nowhere"}]}}]`},
		"the one around it":     {nestedCreate, 1, `{"AssetType": "Epic", "Name": "E"}`, "Violation'Required'Epic.Scope", `Epic", "Name": "E"`},
		"YAML":                  {"AssetType: Story\nName: a\n---\nfrom: Story:1\nupdate:\n  Name: ''\n  Estimate: none\n", 1, `{}`, "Violation'Invalid'Story.Estimate", "none\n"},
		"a list of YAML":        {"- from: Task\n- from: Story:1\n  execute: Close\n", 1, `{}`, "Invalid Operation 'Story.Close'", "Close\n"},
		"what is no command":    {`[3]`, 0, `{}`, "x", `3]`},
		"letters of many bytes": {`{"AssetType": "Story", "Description": "für 💳", "Name": "x"}`, 0, `{"AssetType": "Story", "Name": "x"}`, "Violation'TooLong'Story.Name", `x"}`},
	} {
		value, err := parseOrdered([]byte(c.projected))
		if err != nil {
			t.Fatal(err)
		}
		projected, _ := value.(jsonObject)
		at := placeOf(commandsOf(c.request)[c.index], projected, c.message)
		if got := c.request[at:]; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: the place is %q, want %q", name, got, c.want)
		}
	}
	if got := commandsOf("[" + strings.Repeat("0,", 1<<19) + "0]"); got != nil {
		t.Errorf("a request that needs much memory is read: %d commands", len(got))
	}
	for _, request := range []string{"", "{", "from: ["} {
		if got := commandsOf(request); got != nil {
			t.Errorf("%q has %d commands", request, len(got))
		}
	}
}

// TestSourcePlace checks that a position in the query that the page sends is converted to the
// position in the text of the request.
func TestSourcePlace(t *testing.T) {
	for name, c := range map[string]struct{ request, sent, at, want string }{
		"JSON":        {"{\"from\":  \"Story\",\n \"select\": [\"Name\", \"Nix\"]}", `{"from":"Story","select":["Name","Nix"],"explain":true}`, "Nix", `Nix"]}`},
		"in a text":   {"{\"from\": \"Story\",\n \"filter\": [\"Name='a';Nix='3'\"]}", `{"from":"Story","filter":["Name='a';Nix='3'"]}`, "Nix", "Nix='3'"},
		"YAML":        {"from: Story\nselect:\n  - Name\n  - Scope.Nix\n", `{"from":"Story","select":["Name","Scope.Nix"]}`, "Nix", "Nix\n"},
		"an alias":    {`{"@x": {"from": "Nix"}}`, `{"from":"Nix"}`, "Nix", `Nix"}}`},
		"with quotes": {`{"from": "Story", "filter": ["Name='\u0022'"]}`, `{"from":"Story","filter":["Name='\"'"]}`, `\"`, `Name='\u0022'"]}`},
	} {
		at := sourcePlace(commandsOf(c.request)[0], []byte(c.sent), strings.Index(c.sent, c.at))
		if got := c.request[at:]; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: the place is %q, want %q", name, got, c.want)
		}
	}
}

// TestNothing checks which commands count as changing nothing.
func TestNothing(t *testing.T) {
	same, other := attributeEffect{Name: "Estimate", Same: true}, attributeEffect{Name: "Name"}
	for name, c := range map[string]struct {
		effect effect
		want   bool
	}{
		"the same value":      {effect{Does: changes, Oid: "Story:1", Attributes: []attributeEffect{same}}, true},
		"one of two is other": {effect{Does: changes, Oid: "Story:1", Attributes: []attributeEffect{same, other}}, false},
		"no value":            {effect{Does: changes, Oid: "Story:1"}, true},
		"found when it runs":  {effect{Does: changes, Attributes: []attributeEffect{same}}, false},
		"an operation":        {effect{Does: "Run", Oid: "Story:1", Operation: "Close"}, false},
	} {
		if got := c.effect.changesNothing(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
