package importer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/importer"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m) }

const examples = "../../examples/import/"

// inBoth runs a test with a service on SQLite and with one on MySQL. base is the URL of the
// service with the credentials of the administrator.
func inBoth(t *testing.T, do func(t *testing.T, base string)) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			base := testproc.Serve(t, dialect, map[string]string{"ALDS_ADMIN_PASSWORD": "of-the-test"})
			do(t, strings.Replace(base, "http://", "http://admin:of-the-test@", 1))
		})
	}
}

// bring imports a file. It returns the counts and all output of the import.
func bring(t *testing.T, o importer.Options, mapping string) (importer.Counts, string, error) {
	t.Helper()
	m, err := importer.DefaultMapping(o.Format)
	if mapping != "" {
		f, openErr := os.Open(mapping)
		if openErr != nil {
			t.Fatal(openErr)
		}
		defer f.Close()
		m, err = importer.ReadMapping(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	o.Out, o.Log = &said, &said
	if o.Batch == 0 {
		o.Batch = 2
	}
	c, err := importer.Run(t.Context(), o, m)
	return c, said.String(), err
}

// TestAFileWithoutKeys imports a file without a column of keys. The import fails with one error
// before it sends a request.
func TestAFileWithoutKeys(t *testing.T) {
	for format, file := range map[string]string{"csv": "Name;AssetType\nA;Story\nB;Story\n", "jira": "Summary,Issue Type\nA,Story\nB,Story\n"} {
		path := filepath.Join(t.TempDir(), "keyless.csv")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := importer.DefaultMapping(format)
		if err != nil {
			t.Fatal(err)
		}
		if format == "csv" {
			m.Separator = ";"
		}
		var said bytes.Buffer
		c, err := importer.Run(t.Context(), importer.Options{Format: format, File: path, URL: "http://127.0.0.1:1/alds", Batch: 2, Out: &said, Log: &said}, m)
		if err == nil || errors.Is(err, importer.ErrProblems) || !strings.Contains(err.Error(), "keyless.csv has no column "+m.Key.Column+", which must have the key") || said.Len() > 0 || c.Records > 0 {
			t.Errorf("%s: %v, %+v\n%s", format, err, c, said.String())
		}
	}
}

// rows returns the rows of a query as text.
func rows(t *testing.T, base string, query map[string]any) string {
	t.Helper()
	body, _ := json.Marshal(query)
	res, err := http.Post(base+"/query.v1", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var sets [][]map[string]any
	if err := json.NewDecoder(res.Body).Decode(&sets); err != nil || len(sets) != 1 {
		t.Fatalf("status %d: %v", res.StatusCode, err)
	}
	var text strings.Builder
	for _, row := range sets[0] {
		for i, token := range query["select"].([]string) {
			if i > 0 {
				text.WriteString(" | ")
			}
			if row[token] != nil {
				fmt.Fprint(&text, row[token])
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}

var formats = []struct {
	name, format, file, mapping, project, prefix string
	selects                                      []string
	want                                         string
}{
	{
		name: "csv with a mapping", format: "csv", file: "backlog.csv", mapping: examples + "backlog.yaml", prefix: "SH-",
		selects: []string{"Reference", "AssetType", "Name", "Description", "Scope.Name", "Scope.Parent.Name", "Super.Reference", "Parent.Reference", "Status.Name", "Dependencies.Reference"},
		want: `SH-1 | Epic | Sell on the web |  | Shop | System (All Projects) |  |  |  | []
SH-2 | Story | Pay by card | Visa, and
"the other one" | Checkout | Shop | SH-1 |  | In Progress | [SH-4]
SH-3 | Task | Choose a provider |  | Checkout | Shop |  | SH-2 |  | []
SH-4 | Story | Order without an account | <b>No</b> password | Checkout | Shop | SH-1 |  | Future | []
SH-5 | Defect | Total is wrong | Rounds down | Checkout | Shop |  |  |  | []
`,
	}, {
		name: "json lines", format: "jsonl", file: "items.jsonl", project: "Scope:0", prefix: "J-",
		selects: []string{"Reference", "AssetType", "Name", "Super.Reference", "Parent.Reference", "TaggedWith"},
		want: `J-1 | Epic | Find things |  |  | []
J-2 | Story | Browse the catalogue | J-1 |  | [shop web]
J-3 | Test | Shows prices |  | J-2 | []
`,
	}, {
		name: "issues as csv", format: "jira", file: "issues.csv", prefix: "WEB-",
		selects: []string{"Reference", "AssetType", "Name", "Description", "Scope.Name", "Super.Reference", "Parent.Reference", "CreateDate", "CreatedBy.Username", "ChangeDate", "Status.Name", "PrimaryWorkitem.Priority.Name", "Owners.Username", "MentionedInExpressions.Content", "TaggedWith"},
		want: `WEB-1 | Epic | Checkout |  | Web |  |  | 2020-02-01T09:00:00.000 | admin | 2020-03-01T16:30:00.000 | In Progress |  | [admin] | [] | []
WEB-2 | Story | Pay by card | Visa, &amp; others<br>first. | Web | WEB-1 |  | 2020-02-02T10:00:00.000 | admin | <now> | Future | High | [admin] | [Which provider? ann: The cheap one; of course] | [money web]
WEB-3 | Task | Choose a provider |  | Web |  | WEB-2 | 2020-02-03T09:15:00.000 | admin | 2020-02-04T09:15:00.000 |  |  | [] | [] | []
WEB-4 | Defect | Total is wrong |  | Web |  |  | 2020-02-04T12:00:00.000 | admin | 2020-02-04T12:00:00.000 | Done | Medium | [] | [] | []
`,
	}, {
		name: "issues as json", format: "jira", file: "issues.json", prefix: "APP-",
		selects: []string{"Reference", "AssetType", "Name", "Description", "Scope.Name", "Super.Reference", "Parent.Reference", "CreateDate", "ChangeDate", "Dependencies.Reference", "MentionedInExpressions.Content"},
		want: `APP-1 | Epic | Checkout |  | App |  |  | 2020-02-01T09:00:00.000 | 2020-03-01T16:30:00.000 | [] | []
APP-2 | Story | Pay by card | Visa, &amp; others<br>first. | App | APP-1 |  | 2020-02-02T10:00:00.000 | 2020-02-05T23:30:00.000 | [APP-1] | [Which provider?]
APP-3 | Task | Choose a provider |  | App |  | APP-2 | 2020-02-03T08:15:00.000 | 2020-02-04T08:15:00.000 | [] | []
`,
	},
}

// TestFormats imports a file of each format. A dry run reports the result and writes nothing.
// After the import the service has each item once, with dates, authors and links. The same
// import again changes nothing.
func TestFormats(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		for _, c := range formats {
			t.Run(c.name, func(t *testing.T) {
				query := map[string]any{"from": "Workitem", "find": c.prefix, "findin": []string{"Reference"}, "select": c.selects, "sort": []string{"Reference"}}
				n := strings.Count(c.want, c.prefix) // not less than the number of items, because links count, too
				o := importer.Options{URL: base, Format: c.format, File: examples + c.file, Project: c.project, Work: t.TempDir(), DryRun: true}
				tried, said, err := bring(t, o, c.mapping)
				if err != nil {
					t.Fatalf("dry run: %v\n%s", err, said)
				}
				if got := rows(t, base, query); got != "" {
					t.Fatalf("the dry run has written assets:\n%s", got)
				}
				o.DryRun = false
				done, said, err := bring(t, o, c.mapping)
				if err != nil || done != tried || done.Created == 0 || done.Created > n {
					t.Fatalf("got %+v, the dry run %+v, %v\n%s", done, tried, err, said)
				}
				if got := recent(rows(t, base, query)); got != c.want {
					t.Errorf("got\n%swant\n%s", got, c.want)
				}
				again, said, err := bring(t, o, c.mapping)
				if err != nil || again.Created != 0 || again.Skipped != done.Records {
					t.Errorf("again: %+v, %v\n%s", again, err, said)
				}
				o.Update = true
				if again, said, err = bring(t, o, c.mapping); err != nil || again.Created != 0 || again.Updated != done.Records {
					t.Errorf("with update: %+v, %v\n%s", again, err, said)
				}
				if got := recent(rows(t, base, query)); got != c.want {
					t.Errorf("after an update\n%s", got)
				}
				if left, _ := filepath.Glob(o.Work + "/*"); len(left) > 0 {
					t.Errorf("files remain after the import: %v", left)
				}
			})
		}
	})
}

// recent replaces instants of the last 24 hours by <now>.
func recent(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, " | ") {
		if i > 0 {
			b.WriteString(" | ")
		}
		if at, err := time.Parse("2006-01-02T15:04:05.000", part); err == nil && time.Since(at) < 24*time.Hour {
			part = "<now>"
		}
		b.WriteString(part)
	}
	return b.String()
}

const badRows = `key,title,points,parent
B-1,fine,1,
B-2,,2,
B-3,no number,many,
B-4,too,many,fields,here
,no key,1,
B-5,not "quoted,1,
B-6,"two
lines",3,
B-1,the key again,1,
B-7,below nothing,1,NONE-1
B-8,fine too,5,
`

const badMapping = `
key: key
type: {default: Story}
attributes: {Name: title, Estimate: points, Super: {column: parent, key: true}}
`

// TestRejects imports a file with wrong rows. The import reports these rows with their lines,
// and imports the other rows. The corrected file of rejected rows can then be imported.
func TestRejects(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		put(t, dir+"/bad.csv", badRows)
		put(t, dir+"/map.yaml", badMapping)
		o := importer.Options{URL: base, Format: "csv", File: dir + "/bad.csv", Project: "System (All Projects)", Batch: 4}
		tried := o
		tried.DryRun = true
		counts, said, err := bring(t, tried, dir+"/map.yaml")
		if err == nil || counts.Created != 3 || counts.Rejected != 7 {
			t.Errorf("dry run: %+v, %v\n%s", counts, err, said)
		}
		counts, said, err = bring(t, o, dir+"/map.yaml")
		if err == nil || counts.Created != 3 || counts.Rejected != 7 {
			t.Errorf("got %+v, %v", counts, err)
		}
		for _, want := range []string{
			"line 3, B-2: Violation'Required'Story.Name", "line 4, B-3: Violation'Invalid'Story.Estimate",
			"line 5: the row has 5 fields, the header 4", "line 6: no key in the column key", "line 7: bare \" in non-quoted-field",
			"line 10, B-1: the key B-1 comes twice", "line 11, B-7: Super: no record and no asset has the key NONE-1",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("the output does not contain %s:\n%s", want, said)
			}
		}
		file := dir + "/bad.rejects.csv"
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		put(t, file, strings.NewReplacer("B-2,,2", "B-2,named,2", "many,\n", "3,\n", "too,many,fields,here", "five,1,", ",no key", "B-9,no key",
			`not "quoted`, "quoted", "B-1,the key", "B-10,the key", "NONE-1", "").Replace(string(text)))
		o.File = file
		if counts, said, err = bring(t, o, dir+"/map.yaml"); err != nil || counts.Created != 7 {
			t.Errorf("import of the corrected rows: %+v, %v\n%s\n%s", counts, err, said, text)
		}
	})
}

// write sends commands, and fails the test unless all of them succeed.
func write(t *testing.T, base, commands string) {
	t.Helper()
	res, err := http.Post(base+"/api/asset", "application/json", strings.NewReader(commands))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(text, []byte(`"commandFailures":{"commands":[],`)) {
		t.Fatalf("status %d: %v\n%s", res.StatusCode, err, text)
	}
}

const unknownRows = `key,title,team,owner,source
U-1,one,Blue,admin,
U-2,two,Blue,nobody,
U-3,three,Red,,Nowhere
U-4,four,blue,,
`

const unknownMapping = `
key: {column: key, attribute: Reference}
type: {default: Story}
attributes:
  Name: title
  Team: {column: team, unknown: create, create: {Name: $value, Description: made for it}}
  Owners: {column: owner, unknown: leave out}
  Source: {column: source, unknown: reject}
`

// TestUnknown imports names that no asset has. As the mapping says, the import creates an asset
// once, leaves the name out, or rejects the record. A dry run reports the same.
func TestUnknown(t *testing.T) {
	inBoth(t, func(t *testing.T, base string) {
		dir := t.TempDir()
		put(t, dir+"/unknown.csv", unknownRows)
		put(t, dir+"/map.yaml", unknownMapping)
		o := importer.Options{URL: base, Format: "csv", File: dir + "/unknown.csv", Project: "Scope:0", DryRun: true}
		teams := map[string]any{"from": "Team", "select": []string{"Name", "Description"}, "sort": []string{"Name"}}
		tried, saidBefore, err := bring(t, o, dir+"/map.yaml")
		if got := rows(t, base, teams); err == nil || got != "" {
			t.Errorf("a dry run: %v, and teams %s", err, got)
		}
		o.DryRun = false
		counts, said, err := bring(t, o, dir+"/map.yaml")
		if err == nil || counts != tried || counts.Created != 3 || counts.Rejected != 1 {
			t.Errorf("got %+v, the dry run %+v, %v", counts, tried, err)
		}
		for _, want := range []string{`line 4, U-3: Source: no StorySource is called "Nowhere"`, `"nobody"`, "also created: Team (1)"} {
			for _, text := range []string{saidBefore, said} {
				if !strings.Contains(text, want) {
					t.Errorf("the output does not contain %s:\n%s", want, text)
				}
			}
		}
		if got, want := rows(t, base, teams), "Blue | made for it\n"; got != want {
			t.Errorf("teams\n%swant\n%s", got, want)
		}
		stories := map[string]any{"from": "Story", "select": []string{"Reference", "Team.Name", "Owners.Username"}, "sort": []string{"Reference"}}
		if got, want := rows(t, base, stories), "U-1 | Blue | [admin]\nU-2 | Blue | []\nU-4 | Blue | []\n"; got != want {
			t.Errorf("stories\n%swant\n%s", got, want)
		}
		if _, said, err = bring(t, o, dir+"/map.yaml"); err == nil || rows(t, base, teams) != "Blue | made for it\n" {
			t.Errorf("again: %v\n%s", err, said)
		}
	})
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNeverCompleted imports a record whose request the service never completes. The import
// reports this record and imports the others. It does so even if the service allows fewer
// commands in a request than the import sends.
func TestNeverCompleted(t *testing.T) {
	base := testproc.Serve(t, "sqlite", map[string]string{"ALDS_ADMIN_PASSWORD": "of-the-test", "ALDS_MAX_COMMANDS": "3"})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Body = io.NopCloser(bytes.NewReader(body)); bytes.Contains(body, []byte("heavy")) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":"the request took too long"}`))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	put(t, dir+"/rows.csv", "key,title,after\nN-1,one,N-2\nN-2,two,N-4\nN-3,heavy,\nN-4,four,N-1\n")
	put(t, dir+"/map.yaml", "key: key\ntype: {default: Story}\nattributes: {Name: title, Dependencies: {column: after, key: true, later: true}}\n")
	o := importer.Options{URL: strings.Replace(s.URL, "http://", "http://admin:of-the-test@", 1) + u.Path, Format: "csv", File: dir + "/rows.csv", Project: "Scope:0", Batch: 4}
	counts, said, err := bring(t, o, dir+"/map.yaml")
	if !errors.Is(err, importer.ErrProblems) || counts.Created != 3 || counts.Rejected != 1 || counts.Lacking != 0 || !strings.Contains(said, "line 4, N-3: the service answered 503") {
		t.Errorf("got %+v, %v\n%s", counts, err, said)
	}
	const want = "N-1 | [N-2]\nN-2 | [N-4]\nN-4 | [N-1]\n"
	query := map[string]any{"from": "Story", "select": []string{"Reference", "Dependencies.Reference"}, "sort": []string{"Reference"}}
	if got := rows(t, strings.Replace(base, "http://", "http://admin:of-the-test@", 1), query); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
