package undo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
)

const scope = `"Scope":"Scope:0"`

// undoCases are writes, what happened since, and the conflicts of an undo. #1 is the first asset that the
// setup creates, and so on; the assets of the write follow.
var undoCases = []struct {
	name                string
	setup, write, since []string
	conflicts           []string // asset and attribute
}{
	{
		"a value that has changed since",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`},
		[]string{`{"from":"#1","update":{"Name":"B","Estimate":1}}`},
		[]string{`{"from":"#1","update":{"Name":"C"}}`},
		[]string{"#1 Name"},
	},
	{
		"a value that somebody has already taken back",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`},
		[]string{`{"from":"#1","update":{"Name":"B"}}`},
		[]string{`{"from":"#1","update":{"Name":"A"}}`},
		nil,
	},
	{
		"a text in attrs",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`},
		[]string{`{"from":"#1","update":{"Reference":"B"}}`},
		[]string{`{"from":"#1","update":{"Reference":"C"}}`, `{"from":"#1","update":{"Name":"other"}}`},
		[]string{"#1 Reference"},
	},
	{
		"a relation to one",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`, `{"AssetType":"Epic","Name":"E",` + scope + `}`, `{"AssetType":"Epic","Name":"F",` + scope + `}`},
		[]string{`{"from":"#1","update":{"Super":"#2"}}`},
		[]string{`{"from":"#1","update":{"Super":"#3"}}`},
		[]string{"#1 Super"},
	},
	{
		"one value of a relation to many stays, another comes back",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `,"Owners":["Member:20"],"TaggedWith":["x"]}`},
		[]string{`{"from":"#1","update":{"Owners":{"remove":"Member:20"},"TaggedWith":{"add":"y","remove":"x"}}}`},
		[]string{`{"from":"#1","update":{"TaggedWith":{"add":"z"}}}`},
		nil,
	},
	{
		"a spelling that has changed since",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `,"TaggedWith":["x"]}`},
		[]string{`{"from":"#1","update":{"TaggedWith":{"remove":"x"}}}`},
		[]string{`{"from":"#1","update":{"TaggedWith":{"add":"X"}}}`},
		[]string{"#1 TaggedWith"},
	},
	{
		"a deletion after which somebody else deleted and restored the asset",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`},
		[]string{`{"from":"#1","execute":"Inactivate"}`},
		[]string{`{"from":"#1","execute":"Delete"}`},
		[]string{"#1 "},
	},
	{
		"a new asset that was changed since",
		nil,
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`},
		[]string{`{"from":"#1","update":{"Name":"B"}}`},
		[]string{"#1 "},
	},
	{
		"a new asset with a part that somebody has added",
		nil,
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`},
		[]string{`{"AssetType":"Task","Name":"T","Parent":"#1"}`},
		[]string{"#1 "},
	},
	{
		"a new part of an asset that the write has moved, too",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`, `{"AssetType":"Scope","Name":"P","Parent":"Scope:0","BeginDate":"2026-01-01"}`},
		[]string{`[{"from":"#2","update":{"Name":"Q"}},{"AssetType":"Task","Name":"T","Parent":"#1"},{"from":"#1","update":{"Scope":"#2"}}]`},
		nil,
		nil,
	},
	{
		"a new asset that somebody has deleted",
		nil,
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`},
		[]string{`{"from":"#1","execute":"Delete"}`},
		nil,
	},
	{
		"a rank whose neighbours have changed their order",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`, `{"AssetType":"Story","Name":"B",` + scope + `}`, `{"AssetType":"Story","Name":"C",` + scope + `}`},
		[]string{`{"from":"#2","update":{"Order":{"After":"#3"}}}`},
		[]string{`{"from":"#1","update":{"Order":{"After":"#3"}}}`},
		[]string{"#2 Order"},
	},
	{
		"a rank whose neighbours have moved together",
		[]string{
			`{"AssetType":"Story","Name":"A",` + scope + `}`, `{"AssetType":"Story","Name":"B",` + scope + `}`, `{"AssetType":"Story","Name":"C",` + scope + `}`,
			`{"AssetType":"Story","Name":"D",` + scope + `}`,
		},
		[]string{`{"from":"#2","update":{"Order":{"Before":"#1"}}}`},
		[]string{`{"from":"#3","update":{"Order":{"After":"#4"}}}`, `{"from":"#1","update":{"Order":{"Before":"#3"}}}`},
		nil,
	},
	{
		"a rank where another asset is now",
		[]string{`{"AssetType":"Story","Name":"A",` + scope + `}`, `{"AssetType":"Story","Name":"B",` + scope + `}`, `{"AssetType":"Story","Name":"C",` + scope + `}`},
		[]string{`{"from":"#2","update":{"Order":{"After":"#3"}}}`},
		[]string{`{"AssetType":"Story","Name":"D",` + scope + `}`, `{"from":"#4","update":{"Order":{"After":"#1"}}}`},
		nil,
	},
}

// TestConflicts runs the cases on every database. A refused undo changes nothing, and an undo that skips
// the conflicts leaves nothing else to take back.
func TestConflicts(t *testing.T) {
	each(t, func(w *world) {
		for _, c := range undoCases {
			var made []string
			run := func(commands []string) (id string) {
				for _, command := range commands {
					for i := len(made); i > 0; i-- {
						command = strings.ReplaceAll(command, fmt.Sprintf("#%d", i), made[i-1])
					}
					a := w.must(strings.Trim(command, "[]"))
					id, made = a.RequestID, append(made, a.AssetsCreated.OIDTokens...)
				}
				return id
			}
			run(c.setup)
			id := run(c.write)
			run(c.since)
			before := w.state(w.lastID())
			a, err := w.take(auth.System, `{"requestId":"`+id+`"}`)
			if err != nil || a.Undone != (c.conflicts == nil) {
				t.Errorf("%s: undone is %v, %v", c.name, a.Undone, err)
			}
			if diff := cmp.Diff(before, w.state(w.lastID())); c.conflicts != nil && diff != "" {
				t.Errorf("%s: the refused undo has changed something:\n%s", c.name, diff)
			}
			if c.conflicts != nil {
				if a, err = w.take(auth.System, `{"requestId":"`+id+`","conflicts":"skip"}`); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			var got []string
			for _, x := range a.Conflicts.List {
				for i, token := range made {
					if x.Asset == token {
						got = append(got, fmt.Sprintf("#%d %s", i+1, x.Attribute))
					}
				}
				if x.ChangedBy != "Member:20" || x.ChangeDate == "" {
					t.Errorf("%s: a conflict without the change: %+v", c.name, x)
				}
			}
			if diff := cmp.Diff(c.conflicts, got); diff != "" {
				t.Errorf("%s: conflicts (-want +got):\n%s", c.name, diff)
			}
			before = w.state(w.lastID())
			if a, err = w.take(auth.System, `{"requestId":"`+id+`","conflicts":"skip"}`); err != nil || a.AssetsModified.Count != 0 {
				t.Errorf("%s: another undo changes %v, %v", c.name, a.AssetsModified, err)
			}
			if diff := cmp.Diff(before, w.state(w.lastID())); diff != "" {
				t.Errorf("%s: another undo has changed something:\n%s", c.name, diff)
			}
		}
	})
}

// TestRanksComeBack checks the order after the undo of moves.
func TestRanksComeBack(t *testing.T) {
	each(t, func(w *world) {
		var made []string
		for _, name := range strings.Split("ABCDEF", "") {
			made = append(made, w.must(`{"AssetType":"Story","Name":"`+name+`",`+scope+`}`).AssetsCreated.OIDTokens...)
		}
		before := w.order()
		id := w.must(
			`{"from":"`+made[1]+`","update":{"Order":{"After":"`+made[4]+`"}}}`,
			`{"from":"`+made[3]+`","update":{"Order":{"Before":"`+made[0]+`"}}}`,
			`{"from":"`+made[1]+`","update":{"Order":{"Before":"`+made[3]+`"}}}`,
		).RequestID
		if got := w.order(); got == before {
			t.Fatalf("the write has moved nothing: %s", got)
		}
		w.back(id)
		if got := w.order(); got != before {
			t.Errorf("the order is %s and was %s", got, before)
		}

		id = w.must(`{"from":"` + made[1] + `","update":{"Order":{"After":"` + made[4] + `"}}}`).RequestID
		w.must(`{"AssetType":"Story","Name":"X",` + scope + `}`)
		w.must(`{"from":"Story","where":{"Name":"X"},"update":{"Order":{"After":"` + made[0] + `"}}}`)
		w.back(id)
		if got := w.order(); got != "ABXCDEF" {
			t.Errorf("with an asset at its former place, the order is %s", got)
		}
	})
}

// order returns the names of the stories by rank.
func (w *world) order() string {
	w.t.Helper()
	names := ""
	w.each(`SELECT name FROM asset WHERE number LIKE 'S-%' AND state < 255 ORDER BY order_key`, 1, func(v []any) { names += fmt.Sprint(v[0]) })
	return names
}

// TestAnUndoIsBounded takes back more assets, and more versions, than one request may change.
func TestAnUndoIsBounded(t *testing.T) {
	each(t, func(w *world) {
		story := `{"AssetType":"Story","Name":"S",` + scope + `}`
		all := w.must(story, story, story, story)
		one := all.AssetsCreated.OIDTokens[0]
		w.assets.MaxAssets = 3
		refused := func(body, want string) {
			t.Helper()
			if _, err := w.take(auth.System, body); fault.KindOf(err) != fault.Invalid || fault.Public(err) != want {
				t.Errorf("%s: %v", body, err)
			}
		}
		refused(`{"requestId":"`+all.RequestID+`"}`, "The request touches more than 3 assets.")
		var ids []string
		for i := range 13 {
			ids = append(ids, `"`+w.must(fmt.Sprintf(`{"from":%q,"update":{"Name":"S%d"}}`, one, i)).RequestID+`"`)
		}
		refused(`{"requestId":[`+strings.Join(ids, ",")+`]}`, "The undo would take back more than 12 versions.")
		if a, err := w.take(auth.System, `{"requestId":[`+strings.Join(ids[1:], ",")+`]}`); err != nil || !a.Undone {
			t.Errorf("twelve versions: %v %+v", err, a)
		}
	})
}
