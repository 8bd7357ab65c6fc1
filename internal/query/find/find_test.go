package find

import (
	"context"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// actors has the members who may run a case, by name. Andre reads Call Center and Release 1.
var actors = map[string]auth.Actor{
	"admin": auth.System,
	"andre": {Member: 1003, Scopes: []int64{1000, 1001}},
	"none":  {Member: 1004},
	"andre in the team": {
		Member: 1003, Scopes: []int64{1000, 1001}, Roles: []meta.Role{4, 8}, Held: meta.RolesOf(4, 8),
	},
}

// TestCases runs every testdata/*.txtar on both databases, and with the statements for TiDB. A case
// has a query in "query.json", or a path with parameters in "get". The query runs for the member in
// "as" (default: admin). The test compares the answer with the section "answer".
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	on := func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		finder := New(d, f.m)
		for _, file := range files {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				runCase(t, finder, file, ar)
			})
		}
	}
	testdb.Each(t, on)
	t.Run("as for TiDB", func(t *testing.T) {
		d, _ := testdb.OpenAsTiDB(t)
		on(t, d)
	})
}

func runCase(t *testing.T, f *Finder, file string, ar *txtar.Archive) {
	var r query.Request
	var err error
	who := actors["admin"]
	rest := false
	for i, part := range ar.Files {
		text := strings.TrimSpace(string(part.Data))
		switch part.Name {
		case "as":
			who = actors[text]
		case "query.json":
			rest = false
			r, err = fromJSON(part.Data)
		case "get":
			rest = true
			r, err = fromPath(text)
		case "answer":
			var got []byte
			switch {
			case err != nil:
			case rest:
				got, err = f.Assets(context.Background(), nil, who, r, encode.Form{Base: "/alds/rest-1.v1/Data"}, nil)
			default:
				got, err = f.Rows(context.Background(), nil, who, r, nil)
			}
			answer := lines(t, got, err)
			if *update {
				ar.Files[i].Data = []byte(answer)
			} else if answer != string(part.Data) {
				t.Errorf("got:\n%swant:\n%s", answer, part.Data)
			}
			err = nil
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lines prints an answer with one row on each line, or the error.
func lines(t *testing.T, got []byte, err error) string {
	if err != nil {
		if fault.KindOf(err) == fault.Internal {
			t.Error(err)
		}
		return fault.KindOf(err).String() + ": " + strings.ReplaceAll(fault.Public(err), "\r\n", " ") + "\n"
	}
	if !json.Valid(got) {
		t.Errorf("not JSON: %s", got)
	}
	s := strings.NewReplacer(`[{"_oid"`, "[\n{\"_oid\"", `,{"_oid":"Story`, ",\n{\"_oid\":\"Story", `{"_type":"Asset","href"`, "\n"+`{"_type":"Asset","href"`, `,"Attributes"`, ",\n\"Attributes\"").Replace(string(got))
	return s + "\n"
}

func fromJSON(body []byte) (query.Request, error) {
	nodes, err := document.Parse(body, false)
	if err != nil {
		return query.Request{}, err
	}
	return query.FromDoc(&nodes[0])
}

func fromPath(text string) (query.Request, error) {
	path, params, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(params)
	if err != nil {
		return query.Request{}, err
	}
	return query.FromParams(query.AddressOf(path), values)
}

func TestIDs(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		r := query.Request{From: query.Text{Text: "Task"}, Sort: []query.Text{{Text: "-Name"}}}
		got, err := New(d, f.m).IDs(context.Background(), nil, auth.System, r)
		want := []oid.OID{{Type: "Task", ID: 1040}, {Type: "Task", ID: 1041}}
		if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	})
}

func TestSnapshotReadsEachVersionAtItsMoment(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		finder := New(d, f.m)
		login := f.assets["Story:1020"].versions
		at := []oid.OID{
			{Type: "Story", ID: 1020, Moment: login[1]["moment"].(int64)},
			{Type: "Story", ID: 1020, Moment: login[0]["moment"].(int64)},
			{Type: "Task", ID: 1040, Moment: f.assets["Task:1040"].versions[0]["moment"].(int64)},
			{Type: "Story", ID: 1023, Moment: f.assets["Story:1023"].versions[1]["moment"].(int64)},
			{Type: "Story", ID: 1020, Moment: login[1]["moment"].(int64)},
		}
		got, err := finder.Snapshot(context.Background(), nil, auth.System, "Story", []string{"Name", "Owners.Nickname", "Scope.Name", "Children.@Count"}, at)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			`{"_oid":"Story:1020","Name":"Log in","Owners.Nickname":["Andre","Zoe"],"Scope.Name":"Call Center","Children.@Count":"4"}`,
			`{"_oid":"Story:1020","Name":"Login","Owners.Nickname":["Admin","Andre"],"Scope.Name":"Call Center","Children.@Count":"0"}`,
			``,
			`{"_oid":"Story:1023","Name":"Old","Owners.Nickname":["Zoe"],"Scope.Name":"Call Center","Children.@Count":"0"}`,
			`{"_oid":"Story:1020","Name":"Log in","Owners.Nickname":["Andre","Zoe"],"Scope.Name":"Call Center","Children.@Count":"4"}`,
		}
		for i := range want {
			if string(got[i]) != want[i] {
				t.Errorf("%v:\ngot  %s\nwant %s", at[i], got[i], want[i])
			}
		}
	})
}

func TestMatchingReadsEachVersionAtItsMoment(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		finder := New(d, f.m)
		login := f.assets["Story:1020"].versions
		at := []oid.OID{
			{Type: "Story", ID: 1020, Moment: login[0]["moment"].(int64)},
			{Type: "Story", ID: 1020, Moment: login[1]["moment"].(int64)},
			{Type: "Story", ID: 1022, Moment: f.assets["Story:1022"].versions[0]["moment"].(int64)},
			{Type: "Story", ID: 1023, Moment: f.assets["Story:1023"].versions[1]["moment"].(int64)},
		}
		for _, c := range []struct {
			filter string
			who    string
			want   [4]bool
		}{
			{"Name='Login'", "admin", [4]bool{true, false, false, false}},
			{"Owners=$m", "admin", [4]bool{false, true, false, true}},
			{"Owners!='Member:1004'", "andre", [4]bool{true, false, false, false}},
			{"Scope.ParentMeAndUp='Scope:0'", "admin", [4]bool{true, true, true, true}},
			{"SuperAndUp='Epic:1010'", "admin", [4]bool{true, true, false, false}},
			{"Scope.ParentMeAndUp='Scope:1000'", "none", [4]bool{}},
		} {
			got, err := finder.Matching(context.Background(), nil, actors[c.who], "PrimaryWorkitem", []string{c.filter}, map[string][]string{"$m": {"Member:1004"}}, at)
			if err != nil {
				t.Errorf("%s: %v", c.filter, err)
			} else if [4]bool(got) != c.want {
				t.Errorf("%s as %s: got %v, want %v", c.filter, c.who, got, c.want)
			}
		}
	})
}
