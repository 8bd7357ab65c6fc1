package command

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
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
			"DATABASE_URL": url, "REDIS_URL": testdb.Redis(t), "ALDS_SECRET_KEY": testKey,
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
		if out, err := output(t, to, "check"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		if err := restored(t, to, text); err == nil || !strings.Contains(err.Error(), "not empty") {
			t.Errorf("restored twice: %v", err)
		}
		text = again
	}
}

// answers runs the service and returns its answers to some reads. If write is true, it sends the
// requests in writes first.
func answers(t *testing.T, settings map[string]string, write bool) (all string) {
	t.Helper()
	ran := t.Run("answers", func(t *testing.T) { // the service stops at the end of this test
		base := testproc.Serve(t, "sqlite", settings)
		if write {
			for _, body := range writes {
				if answer := ask(t, http.MethodPost, base+"/api/asset", body); !strings.Contains(answer, `"commandFailures":{"commands":[],`) {
					t.Fatalf("%s: %s", body, answer)
				}
			}
			ask(t, http.MethodPost, base+"/api/webhook", `{"url": "http://127.0.0.1:9/?a=b", "enabled": false, "authorizationHeader": "Bearer x", "secret": "generate", "eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`)
			ask(t, http.MethodPost, base+"/api/localization", `{"tag": "Plural'Story", "text": "Geschichten", "language": "de"}`)
		}
		all = ask(t, http.MethodPost, base+"/query.v1", `[{"from": "BaseAsset", "select": ["Name", "Moment", "AssetState", "Description"], "sort": ["ID"], "asof": "All"},
			{"from": "Story", "select": ["Name", "Estimate", "ToDo", "DetailEstimate", "TaggedWith", "Owners.Name", "Scope.Name"]}]`) +
			ask(t, http.MethodGet, base+"/api/ActivityStream/Scope:0", "")
	})
	if !ran {
		t.FailNow()
	}
	return all
}

// ask sends a request as admin, with the password "right", and returns the answer.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("admin", "right")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", url, body, res.StatusCode, answer, err)
	}
	return string(answer)
}

func exported(t *testing.T, settings map[string]string) string {
	t.Helper()
	text, err := output(t, settings, "export")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func restored(t *testing.T, settings map[string]string, text string) error {
	t.Helper()
	return run(t.Context(), []string{"restore"}, outside{quiet(settings), strings.NewReader(text), io.Discard}, app.API)
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

// TestRestoreThatEnds restores only a part of an export. It checks that then no role starts on this
// database, and that commands refuse it.
func TestRestoreThatEnds(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			from := map[string]string{"DATABASE_URL": testdb.EmptyURL(t, "sqlite"), "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey, "ALDS_ADMIN_PASSWORD": "right"}
			if err := app.Migrate(t.Context(), quiet(from), app.API); err != nil {
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
			for what, do := range map[string]func() error{
				"start":   func() error { return app.Run(t.Context(), quiet(to), app.API) },
				"migrate": func() error { return app.Migrate(t.Context(), quiet(to), app.API) },
				"restore": func() error { return restored(t, to, strings.Join(lines, "")) },
				"export":  func() error { _, err := output(t, to, "export"); return err },
			} {
				if err := do(); err == nil || !strings.Contains(err.Error(), "has not finished") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}
