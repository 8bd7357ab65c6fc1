package bulk

import (
	"encoding/json"
	"testing"

	"github.com/alds-dev/alds/internal/base/document"
)

// FuzzDecode checks that no body makes decode panic, and that every command prints as valid
// JSON.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`[{"@a": {"AssetType": "Story", "Subs": [{"@b": {"AssetType": "Task"}}]}, "error": {}}, {"from": "@a", "update": {"Owners": {"@b": "add"}}}]`,
		`{"config": {"counts-only": true, "maxAffected": 3}}`, `{"config": ["atomic"]}`, `{"config": null}`, `{"@a": {"@b": {}}}`,
		`{"from": "Story:1", "execute": {"op": "X", "list": [{}]}}`, "AssetType: Story\n---\n- from: x\n  select: [a]\n", `[[], 1, "x"]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		docs, err := document.Parse(body, document.Sniff(body))
		if err != nil {
			return
		}
		commands, _, err := decode(docs, 1000)
		if err != nil {
			return
		}
		aliasesOf(commands)
		for _, c := range commands {
			if b := appendNode(nil, c.node); !json.Valid(b) {
				t.Errorf("%q prints as %q", body, b)
			}
			add, remove, ok := addRemove(c.node, true)
			if ok && len(add)+len(remove) == 0 && len(c.node.Keys) > 2 {
				t.Errorf("%q: members were lost", body)
			}
		}
	})
}
