package bulk_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/bulk"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/testdb"
)

func TestLimits(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		e.MaxCommands, e.MaxAssets = 3, 5
		story := `{"AssetType":"Story","Name":"S","Scope":"Scope:0"}`
		for what, c := range map[string]struct{ body, want string }{
			"commands": {"[" + strings.Repeat(story+",", 3) + story + "]", "The request holds more than 3 commands."},
			"nested creates": {
				`{"AssetType":"Epic","Name":"E","Scope":"Scope:0","Subs":[` + strings.Repeat(story+",", 5) + story + `]}`,
				"The request touches more than 5 assets.",
			},
			"assets found":   {`{"from":"StoryStatus","update":{"Description":"x"}}`, ""},
			"too many found": {`{"from":"List","update":{"Description":"x"}}`, "The request touches more than 5 assets."},
		} {
			out, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(c.body)})
			if c.want == "" {
				if err != nil || !strings.Contains(string(out), `"count":4}`) {
					t.Errorf("%s: %v %s", what, err, out)
				}
				continue
			}
			if fault.KindOf(err) != fault.Invalid || fault.Public(err) != c.want {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// Commands are written in batches. What depends on a command of the batch
// before still learns what became of it.
func TestAcrossStretches(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		const good = `{"AssetType":"Theme","Name":"T","Scope":"Scope:0"},`
		fill := strings.Repeat(good, asset.MaxBatch-1)
		for what, c := range map[string]struct {
			last string
			want []string // messages
		}{
			"creates in a create that fails": {
				`{"@e":{"AssetType":"Epic","Name":"E","Subs":[{"AssetType":"Story","Name":"S"},{"AssetType":"Story","Name":"S"}]}}`,
				[]string{"Violation'Required'Epic.Scope", "Invalid OID token: @e", "Invalid OID token: @e"},
			},
			"creates in an update that fails": {
				`{"from":"Scope:0","update":{"Name":"","Workitems":[{"AssetType":"Story","Name":"S"}]}}`,
				[]string{"Violation'Required'Scope.Name", "Invalid OID token: Scope:0"},
			},
			"creates in an update that matches nothing": {`{"from":"Theme","where":{"Name":"none"},"update":{"Name":"x"}}`, nil},
			"creates in a create that is good": {
				`{"AssetType":"Epic","Name":"E","Scope":"Scope:0","Subs":[{"AssetType":"Story","Name":"S"},{"AssetType":"Story","Name":"S"}]}`, nil,
			},
		} {
			out, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte("[" + fill + c.last + "]"), Atomic: true})
			if err != nil {
				t.Fatal(err)
			}
			var r struct {
				CommandFailures struct {
					Commands []struct{ Error struct{ Message string } }
				}
			}
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.CommandFailures.Commands {
				got = append(got, f.Error.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s:\n%s", what, diff)
			}
		}
	})
}

// What one command becomes is shown by its parts: a long list of arguments takes as
// long as as many commands.
func TestALongListFailsQuickly(t *testing.T) {
	e := engine(t, testdb.SQLite(t))
	const n = 10_000
	list := `{"from":"Role:4","execute":{"op":"Delete","list":[{"x":1}` + strings.Repeat(`,{"x":1}`, n-1) + `]}}`
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, r := range []bulk.Request{{}, {Preview: true}, {Key: "k"}} {
		r.Body = []byte(list)
		out, err := e.Run(ctx, auth.System, r)
		if got := strings.Count(string(out), `{"oid":"Role:4"`); got != n || err != nil || ctx.Err() != nil {
			t.Errorf("preview %v, key %q: %d steps, %v, %v", r.Preview, r.Key, got, err, ctx.Err())
		}
	}
}

// A command that fails many times, and shows each time all of it, does not fill the
// memory.
func TestWhatAnAnswerShowsHasABound(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		e.MaxShown = 1000
		long := strings.Repeat("x", 1000)
		for _, r := range []bulk.Request{
			{Body: []byte(`{"from":"@none","execute":{"op":"Delete","list":[` + strings.Repeat(`{"x":1},`, 99) + `{"x":1}]}}`)},
			{Body: []byte(`[{"AssetType":"Theme","Name":"T","Scope":"Scope:0"},{"from":"StoryStatus","update":{"Nothing":"` + long + `"}}]`)},
			{Body: []byte(`{"from":"StoryStatus","update":{"Description":"` + long + `"}}`), Preview: true},
			{Body: []byte(`{"from":"StoryStatus","update":{"Description":"` + long + `"}}`), Preview: true, Comment: "a member's"},
		} {
			who := auth.System
			if r.Comment != "" {
				who.Admin = false
			}
			out, err := e.Run(t.Context(), who, r)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "bytes of commands") {
				t.Errorf("%s: %v %.300s", r.Body, err, out)
			}
		}
		out, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(`{"from":"Theme","total":true,"page":{"size":0}}`)})
		if err != nil || !strings.Contains(string(out), `"total":0`) {
			t.Errorf("something was written: %v %s", err, out)
		}
	})
}
