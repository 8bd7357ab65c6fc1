package bulk_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// failing has commands that fail. Each has a password in a different place.
const failing = `[
	{"AssetType":"Member","Name":"A","Password":"hush-1","Nothing":1},
	{"@m":{"AssetType":"Member","Name":"B","Password":"hush-2","Nothing":1}},
	{"AssetType":"Story","Name":"S","Scope":"Scope:0","Owners":[{"AssetType":"Member","Name":"C","Password":"hush-3"}]},
	{"from":"Member:20","update":{"Password":"hush-4","Nothing":1}},
	{"from":"Member:20","update":{"Password":{"add":["hush-5"],"remove":[]},"Nothing":1}},
	{"oid":"Member:20","update":{"Password":["hush-6"],"Nothing":1}},
	{"from":"@none","update":{"Password":"hush-7"}}
]`

// A stored answer contains no passwords of failed commands. An answer that is not stored shows
// failed commands as they were sent.
func TestStoredAnswersHoldNoPasswords(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		b, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(failing)})
		if err != nil || strings.Count(string(b), "hush-") != 7 {
			t.Fatalf("not stored: %v %s", err, b)
		}
		keyed, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(failing), Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(failing), Key: "k"})
		if err != nil || string(again) != string(keyed) {
			t.Errorf("again: %v %s", err, again)
		}
		k := newProcess(t, d)
		id := k.accept(failing, bulk.Request{}).ID
		k.executeWaiting()
		late, err := k.Progress(t.Context(), auth.System, id)
		if err != nil {
			t.Fatal(err)
		}
		for what, answer := range map[string][]byte{"under a key": keyed, "for later": late} {
			text := string(answer)
			if strings.Contains(text, "hush") || strings.Count(text, `"Password":`) != 7 || !strings.Contains(text, `"Password":null`) ||
				strings.Count(text, `"error":`) != 7 {
				t.Errorf("%s: %s", what, text)
			}
		}
		if n := k.count(`SELECT COUNT(*) FROM bulk_request WHERE answer LIKE '%hush%' OR request LIKE '%hush%'`); n != 0 {
			t.Errorf("%d stored requests hold passwords", n)
		}
	})
}
