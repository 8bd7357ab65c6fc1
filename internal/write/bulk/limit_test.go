package bulk_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
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

// TestReach checks that all changes of a request count for its limits, also changes of assets
// that no command names. A request that exceeds a limit writes nothing.
func TestReach(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		assets := asset.New(d, meta.Default(), nil, nil)
		if err := seed.Run(t.Context(), d, meta.Default()); err != nil {
			t.Fatal(err)
		}
		e := bulk.New(assets, find.New(d, meta.Default()))
		run := func(body string) error {
			_, err := e.Run(t.Context(), auth.System, bulk.Request{Body: []byte(body)})
			return err
		}
		story := `{"AssetType":"Story","Name":"S","Scope":"@p"}`
		if err := run(`[{"@p":{"AssetType":"Scope","Name":"P","Parent":"Scope:0","BeginDate":"2026-01-01"}},` + strings.Repeat(story+",", 7) +
			`{"@s":{"AssetType":"Story","Name":"whole","Scope":"@p","Reference":"r","Children":[` + strings.Repeat(`{"AssetType":"Task","Name":"T"},`, 7) + `{"AssetType":"Task","Name":"T"}]}},
			{"AssetType":"Story","Name":"small","Scope":"@p","Children":[` + strings.Repeat(`{"AssetType":"Task","Name":"T"},`, 3) + `{"AssetType":"Task","Name":"T"}]}]`); err != nil {
			t.Fatal(err)
		}
		e.MaxAssets, assets.MaxAssets = 5, 5
		count := func() (n int) {
			if err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM asset_version").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := count()
		list := strings.TrimSuffix(strings.Repeat("{},", 6), ",")
		tags := strings.TrimSuffix(tagList(21), ",")
		for what, c := range map[string]struct{ body, want string }{
			"a relation from its other end":  {`{"from":"Scope:0","update":{"Workitems":{"add":{"from":"Story","page":{"size":5}}},"Description":"x"}}`, "The request touches more than 5 assets."},
			"a query in the place of values": {`{"from":"Scope:0","update":{"Workitems":{"add":{"from":"PrimaryWorkitem"}}}}`, "The request touches more than 5 assets."},
			"tasks that follow their story":  {`{"from":"Story","where":{"Name":"whole"},"execute":"Split"}`, "The request touches more than 5 assets."},
			"parts":                          {`{"from":"Story","where":{"Name":"whole"},"execute":"QuickClose"}`, "The request touches more than 5 assets."},
			"copies":                         {`{"from":"Story","where":{"Name":"whole"},"execute":"Copy"}`, "The request touches more than 5 assets."},
			"moved with what they belong to": {`{"from":"Story","where":{"Name":"whole"},"update":{"Scope":"Scope:0"}}`, "The request touches more than 5 assets."},
			"a list for each that is found":  {`{"from":"Story","page":{"size":2},"execute":{"op":"Copy","list":[` + list + `]}}`, "The request touches more than 5 assets."},
			"a list for one":                 {`{"from":"Story:1002","execute":{"op":"Copy","list":[` + list + `]}}`, "The request touches more than 5 assets."},
			"creates in each that is found":  {`{"from":"Story","page":{"size":3},"update":{"Children":[{"AssetType":"Task","Name":"T"}]}}`, "The request touches more than 5 assets."},
			"parts read again and again":     {`{"from":"Story","where":{"Name":"small"},"execute":{"op":"EpicToStory","list":[{},{},{},{},{}]}}`, "The request reads more than 20 assets to change others."},
			"values of one attribute":        {`{"from":"Story:1002","update":{"TaggedWith":{"add":[` + tags + `]}}}`, "The request adds and removes more than 20 values of relations."},
			"one value again and again":      {`{"from":"Story","page":{"size":5},"update":{"TaggedWith":{"remove":[` + strings.Repeat(`"x",`, 4) + `"x"]}}}`, "The request adds and removes more than 20 values of relations."},
			"queries for each that is found": {
				`{"from":"Story","page":{"size":3},"update":{"Status":{"from":"StoryStatus"},"Source":{"from":"StorySource"},"Category":{"from":"StoryCategory"},
				"Risk":{"from":"WorkitemRisk"},"Priority":{"from":"WorkitemPriority"},"Customer":{"from":"Member"},"Scope":{"from":"Scope"}}}`,
				"The request executes more than 20 queries in the place of values.",
			},
			"more than the command may": {
				`[{"config":{"maxAffected":3}},{"from":"Scope:0","update":{"Workitems":{"add":{"from":"Story","where":{"Name":"S"},"page":{"size":4}}}}}]`,
				"The command affects more assets than maxAffected: 3.",
			},
		} {
			if err := run(c.body); fault.KindOf(err) != fault.Invalid || fault.Public(err) != c.want {
				t.Errorf("%s: %v", what, err)
			}
			if after := count(); after != before {
				t.Fatalf("%s: %d versions, before %d", what, after, before)
			}
		}
		if err := run(`[{"config":{"maxAffected":3}},{"from":"Scope:0","update":{"Workitems":{"add":{"from":"Story","where":{"Name":"S"},"page":{"size":3}}}}}]`); err != nil || count() != before+3 {
			t.Errorf("as many as the command may: %v, %d versions, before %d", err, count(), before)
		}
	})
}

// tagList returns n tags in quotes, with a comma after each.
func tagList(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"tag %d",`, i)
	}
	return b.String()
}

// Commands are written in batches. A command fails if it depends on a failed command, even if the
// failed command was in the previous batch.
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

// A command with a long list of arguments has many steps. Each failed step shows only its own
// arguments, so the work grows with the number of steps, and not with its square.
func TestALongListFailsStepByStep(t *testing.T) {
	e := engine(t, testdb.SQLite(t))
	const n = 10_000
	list := `{"from":"Role:4","execute":{"op":"Delete","list":[{"x":1}` + strings.Repeat(`,{"x":1}`, n-1) + `]}}`
	const most = 400 << 20 // bytes allocated; 10,000 steps that each show the list of 80 KB would need 800 MB
	for _, r := range []bulk.Request{{}, {Preview: true}, {Key: "k"}} {
		r.Body = []byte(list)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := e.Run(t.Context(), auth.System, r)
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc
		if got := strings.Count(string(out), `{"oid":"Role:4"`); got != n || err != nil || allocated > most {
			t.Errorf("preview %v, key %q: %d steps, %d bytes allocated, %v", r.Preview, r.Key, got, allocated, err)
		}
		t.Logf("%d bytes answered, %d allocated", len(out), allocated)
	}
}

// The size of the commands in an answer is limited. So a long command that fails many times does
// not fill the memory.
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
