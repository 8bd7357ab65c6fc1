package app

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/operate/dump"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/tables"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// writes are requests that fill most tables. They have texts and numbers that the databases store
// in different forms.
var writes = []string{
	`[{"AssetType": "Scope", "Name": "Ünïcode ☃ 𝄞 \" \\ \u0000\u2028", "Parent": "Scope:0", "BeginDate": "2026-01-01", "Workitems": [
		{"AssetType": "Story", "Name": "A", "Estimate": 0.1, "ToDo": 1e21, "DetailEstimate": 0.3333333333333333, "TaggedWith": ["b", "a", "Straße", "STRASSE "],
		 "Description": "<p>long</p>", "Children": [{"AssetType": "Task", "Name": "T"}], "Owners": ["Member:20"]},
		{"AssetType": "Defect", "Name": "B", "FoundInBuild": "x"}]}]`,
	`{"from": "Story", "where": {"Name": "A"}, "update": {"Estimate": 3, "Name": "A2", "TaggedWith": {"remove": ["b"]}}}`,
	`[{"from": "Defect", "where": {"Name": "B"}, "execute": "Delete"}]`,
	`[{"AssetType": "Member", "Name": "ß", "Nickname": "ß", "Username": "Straße", "Password": "not a short one", "DefaultRole": "Role:1"}]`,
}

// TestExportAndRestore moves a database from SQLite to a server and back. All exports must have
// the same bytes, and the service must return the same answers.
func TestExportAndRestore(t *testing.T) {
	t.Parallel()
	settings := func(url string) map[string]string {
		return map[string]string{
			"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": url, "REDIS_URL": testdb.Redis(t), "ALDS_SECRET_KEY": testKey,
			"ALDS_ADMIN_PASSWORD": "right", "ALDS_WEBHOOK_ALLOW_PRIVATE": "1",
		}
	}
	from := settings(testdb.EmptyURL(t, "sqlite"))
	before := answers(t, from, true)
	text := exported(t, from)
	for _, url := range []string{testdb.EmptyURL(t, "mysql"), "sqlite:" + filepath.Join(t.TempDir(), "back.db")} {
		to := settings(url)
		if err := restored(t, to, text); err != nil {
			t.Fatal(err)
		}
		again := exported(t, to)
		compareLines(t, text, again)
		if after := answers(t, to, false); after != before {
			t.Errorf("answers after\n%s\nbefore\n%s", after, before)
		}
		var out bytes.Buffer
		if err := command(t.Context(), []string{"check"}, outside{getenv: env(to), stdout: &out, stderr: io.Discard}, API); err != nil {
			t.Errorf("%v\n%s", err, &out)
		}
		if err := restored(t, to, text); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("restored twice: %v", err)
		}
		text = again
	}
}

// answers starts the service and returns its answers to some reads. If write is set, it sends the
// requests in writes first.
func answers(t *testing.T, settings map[string]string, write bool) string {
	t.Helper()
	r := start(t, settings, Standalone)
	ask := func(method, path, body string) string {
		status, answer := r.ask(method, path, "admin", "right", body)
		if status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", path, body, status, answer)
		}
		return answer
	}
	if write {
		for _, body := range writes {
			if answer := ask(http.MethodPost, "/api/asset", body); !strings.Contains(answer, `"commandFailures":{"commands":[],`) {
				t.Fatalf("%s: %s", body, answer)
			}
		}
		ask(http.MethodPost, "/api/webhook", `{"url": "http://127.0.0.1:9/?a=b", "enabled": false, "authorizationHeader": "Bearer x", "secret": "generate", "eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`)
		ask(http.MethodPost, "/api/localization", `{"tag": "Plural'Story", "text": "Geschichten", "language": "de"}`)
	}
	all := ask(http.MethodPost, "/query.v1", `[{"from": "BaseAsset", "select": ["Name", "Moment", "AssetState", "Description"], "sort": ["ID"], "asof": "All"},
		{"from": "Story", "select": ["Name", "Estimate", "ToDo", "DetailEstimate", "TaggedWith", "Owners.Name", "Scope.Name"]}]`) +
		ask(http.MethodGet, "/api/ActivityStream/Scope:0", "")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	return all
}

func exported(t *testing.T, settings map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	if err := command(t.Context(), []string{"export"}, outside{getenv: env(settings), stdout: &out, stderr: io.Discard}, API); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func restored(t *testing.T, settings map[string]string, text string) error {
	t.Helper()
	return command(t.Context(), []string{"restore"}, outside{getenv: env(settings), stdin: strings.NewReader(text), stderr: io.Discard}, API)
}

// compareLines fails the test at the first line in which two exports differ.
func compareLines(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			t.Fatalf("line %d\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	if len(w) != len(g) {
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
}

// TestNoStatementWaitsForTheReaderOfAnExport checks at every write of an export that no statement
// runs at the server. A statement that waits for a slow reader would exceed its time limit.
func TestNoStatementWaitsForTheReaderOfAnExport(t *testing.T) {
	d := testdb.MySQL(t)
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		for n := range 300 { // more than the buffers of a connection hold
			_, err := tx.Exec(t.Context(), `INSERT INTO asset_text (asset_id, hash, text) VALUES (?, ?, ?)`, 1000+n/3, fmt.Appendf(nil, "%016d", n), strings.Repeat("x", 64<<10))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	asked, written := 0, 0
	out := writerFunc(func(b []byte) (int, error) {
		running, err := 1, error(nil)
		// A statement that has sent all rows ends soon.
		for tries := 0; tries < 1000 && running > 0 && err == nil; tries++ {
			err = d.QueryRow(t.Context(), `SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND id <> CONNECTION_ID()`).Scan(&running)
		}
		if running > 0 {
			t.Errorf("%d statements run while %d bytes go out", running, len(b))
		}
		asked++
		written += bytes.Count(b, []byte("\n"))
		return len(b), err
	})
	rows, err := dump.Write(t.Context(), d, out, "0", func(string, int64) {})
	if err != nil || asked < 10 || rows < 300 || int64(written) < rows {
		t.Errorf("%d rows, %d lines in %d parts: %v", rows, written, asked, err)
	}
}

// TestRestoreThatEnds restores parts of an export, and checks that no role or command starts on
// such a database.
func TestRestoreThatEnds(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			from := map[string]string{"DATABASE_URL": testdb.EmptyURL(t, "sqlite"), "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey, "ALDS_ADMIN_PASSWORD": "right"}
			if err := Migrate(t.Context(), func(k string) string { return from[k] }, io.Discard, API); err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(exported(t, from), "\n")
			to := map[string]string{"DATABASE_URL": testdb.EmptyURL(t, dialect), "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey, "ALDS_ADDR": "127.0.0.1:0", "ALDS_ADMIN_PASSWORD": "right"}
			for text, want := range map[string]string{
				"":     "truncated after line 0",
				"{}\n": "not an export of alds",
				`{"alds":"export","form":1,"release":"v9","schema":1}` + "\n": "of release v9",
			} {
				if err := restored(t, to, text); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q: %v, want %s", text, err, want)
				}
			}
			half := strings.Join(lines[:len(lines)/2], "")
			if err := restored(t, to, half); err == nil || !strings.Contains(err.Error(), "truncated") {
				t.Fatalf("half an export: %v", err)
			}
			getenv := func(k string) string { return to[k] }
			for what, do := range map[string]func() error{
				"start":   func() error { return Run(t.Context(), getenv, io.Discard, API) },
				"migrate": func() error { return Migrate(t.Context(), getenv, io.Discard, API) },
				"restore": func() error { return restored(t, to, strings.Join(lines, "")) },
				"export": func() error {
					return command(t.Context(), []string{"export"}, outside{getenv: getenv, stdout: io.Discard, stderr: io.Discard}, API)
				},
			} {
				if err := do(); err == nil || !strings.Contains(err.Error(), "has not finished") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// TestTablesAreTheSameEverywhere checks that all kinds of databases have the same columns, so
// that an export fits into each of them.
func TestTablesAreTheSameEverywhere(t *testing.T) {
	of := map[string]string{}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		all, err := tables.All(t.Context(), d, d.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range all {
			line := ""
			for _, c := range table.Columns {
				line += c.String() + " "
			}
			if of[table.Name] == "" {
				of[table.Name] = line
			}
			if of[table.Name] != line {
				t.Errorf("%s\n%s\nelsewhere\n%s", table.Name, line, of[table.Name])
			}
		}
	})
}
