package pagetest

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// installation is a service whose database the test changes directly, as if other processes had written to
// it.
type installation struct {
	*site
	db *db.DB
}

func newInstallation(t *testing.T) installation {
	t.Helper()
	address := "sqlite:" + filepath.Join(t.TempDir(), "alds.db")
	base := testproc.Serve(t, "sqlite", map[string]string{
		"ALDS_ADMIN_PASSWORD": password, "DATABASE_URL": address, "ALDS_DASHBOARDS_URL": "https://dashboards.example/d/alds?a=1&b=\"2\"",
	})
	d, err := db.Open(t.Context(), address, db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return installation{newSite(t, base), d}
}

func (i installation) exec(query string, args ...any) {
	i.t.Helper()
	testdb.Exec(i.t, i.db, query, args...)
}

// process inserts a row for a process. The parameter ago says how long before now the process was last
// seen.
func (i installation) process(id, role, version, host string, ago time.Duration, slow ...object) {
	i.t.Helper()
	text, err := json.Marshal(append([]object{}, slow...))
	if err != nil {
		i.t.Fatal(err)
	}
	now := i.db.Dialect.NowMicros
	i.exec(`INSERT INTO process (id, role, version, host, started, seen, slow_queries) VALUES (?, ?, ?, ?, `+now+` - ?, `+now+` - ?, ?)`,
		id, role, version, host, (ago + 27*time.Hour).Microseconds(), ago.Microseconds(), string(text))
}

// checked sets the progress of a check of the database.
func (i installation) checked(state, done int, step string, findings ...object) {
	i.t.Helper()
	text, err := json.Marshal(append([]object{}, findings...))
	if err != nil {
		i.t.Fatal(err)
	}
	now := i.db.Dialect.NowMicros
	i.exec(`UPDATE system_check SET state = ?, done = ?, steps = 26, step = ?, findings = ?, began = `+now+` - 90000000, ended = `+now+`, begun_by = 20, owner = 'other', lease = `+now+` + 900000000`,
		state, done, step, string(text))
}

const slowQuery = `{"from":"Story","select":["Name","Status.Name","Owners.Name",{"from":"Children","select":["Name"]}],"where":{"Scope":"?"},"filter":["Name='?'|Estimate>'?'"],"page":{"size":50}}`

// furnish inserts rows for several processes. One of the processes is lost, and two have slow queries.
func (i installation) furnish() {
	ms := int64(time.Millisecond)
	i.process("w1", "worker", "v1.4.0", "worker-1.example", time.Second)
	i.process("a1", scripts, "v1.4.0", longest, 20*time.Minute, object{"query": `{"from":"Epic","select":["` + longest + strings.Repeat("Super.", 100) + `Name"]}`, "slowest": 800 * ms, "total": 800 * ms, "count": 1, "rows": 12, "ago": 5 * ms})
	i.process("a2", "api", "(devel)", "api-2", time.Second,
		object{"query": slowQuery, "slowest": 12345 * ms, "total": 98765 * ms, "count": 1234, "rows": 56789, "ago": 60_000 * ms},
		object{"query": `{"from":"` + scripts, "cut": true, "slowest": 12 * ms, "total": 12 * ms, "count": 1, "rows": 0})
}

// TestSystem checks that an administrator sees processes, queues and slow queries. The administrator must
// be able to start a check of the database, with and without script.
func TestSystem(t *testing.T) {
	t.Parallel()
	browser(t)
	s := newInstallation(t)
	s.furnish()
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	b.open("/alds/ui/system")
	for _, want := range []string{
		"Different versions run", "worker-1.example", "another version", "silent for 20 minutes", "this process", "Pending",
		"12,345 ms", "80 ms", "56,789", "api on api-2", "Name='?'|Estimate>'?'", "It was never checked", scripts, "SQLite 3",
	} {
		if !strings.Contains(b.text("main"), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if got := eval[string](b, `[...document.querySelectorAll("main a")].filter(a => a.textContent == "In the console").map(a => new URL(a.href).searchParams.get("request").replace(/\s/g, "")).join("\n")`); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, strings.NewReplacer(`'?'`, "''", `"?"`, `""`).Replace(slowQuery)) {
		t.Errorf("links to the console: %s", got)
	}
	if got := eval[string](b, `[...document.querySelectorAll("main a")].find(a => a.textContent == "Dashboards").href`); got != "https://dashboards.example/d/alds?a=1&b=%222%22" {
		t.Errorf("the dashboards are at %s", got)
	}
	if status := b.submit("#check form"); status != http.StatusOK || !strings.HasPrefix(b.path(), "/alds/ui/system") {
		t.Errorf("started: %d at %s", status, b.path())
	}
	b.waitFor("#check form")
	if text := b.text("#check"); !strings.Contains(text, "agrees with itself") || !strings.Contains(text, "Started by Administrator") {
		t.Errorf("checked: %s", text)
	}
}

// TestACheckThatRuns checks that the page shows the progress of a check of the database, and stops polling
// when the check has ended.
func TestACheckThatRuns(t *testing.T) {
	t.Parallel()
	browser(t)
	s := newInstallation(t)
	b := newTab(t, s.origin)
	signIn(b, "admin", password)
	s.checked(1, 4, "attributes")
	b.open("/alds/ui/system")
	b.waitFor("#check")
	if text := b.text("#check"); !strings.Contains(text, "Step 5 of 26: attributes") || b.exists("#check form") {
		t.Errorf("running: %s", text)
	}
	s.checked(2, 26, "", object{"check": "links", "table": "asset_link", "id": 1234, "text": scripts})
	b.waitFor("#check table")
	if text := b.text("#check"); !strings.Contains(text, "1 finding") || !strings.Contains(text, scripts) || b.exists("#check[hx-trigger]") || !b.exists("#check form") {
		t.Errorf("done: %s", text)
	}
	s.checked(4, 7, "")
	b.withoutScript()
	if b.open("/alds/ui/system"); !strings.Contains(b.text("#check"), "Broken off") {
		t.Errorf("broken off: %s", b.text("#check"))
	}
	if status := b.submit("#check form"); status != http.StatusOK || b.path() != "/alds/ui/system#check" {
		t.Errorf("without script: %d at %s", status, b.path())
	}
	s.checked(1, 4, "attributes")
	b.open("/alds/ui/system")
	s.checked(2, 26, "")
	if b.follow("#check a"); !strings.Contains(b.text("#check"), "agrees with itself") {
		t.Errorf("loaded again: %s", b.text("#check"))
	}
}

// TestTheSystemIsForAdministrators checks that other members see nothing of the system page.
func TestTheSystemIsForAdministrators(t *testing.T) {
	t.Parallel()
	browser(t)
	s := newInstallation(t)
	s.send(object{"AssetType": "Member", "Name": "Ada", "Nickname": "Ada", "Username": "ada", "Password": password, "DefaultRole": "Role:4"})
	b := newTab(t, s.origin)
	signIn(b, "ada", password)
	if b.exists("nav a[href$='/ui/system']") {
		t.Error("the page is offered to Ada")
	}
	b.expect("403")
	if status := b.open("/alds/ui/system"); status != http.StatusForbidden || strings.Contains(b.html(), "SQLite") {
		t.Errorf("%d: %s", status, b.text("main"))
	}
}

// TestTheSystemIsReadable inspects the system page with everything that it can show, on every screen.
func TestTheSystemIsReadable(t *testing.T) {
	t.Parallel()
	browser(t)
	s := newInstallation(t)
	s.furnish()
	for what, show := range map[string]func(){
		"findings": func() {
			s.checked(2, 26, "", object{"check": "links", "table": "asset_link", "id": 1234, "text": "Story:1234 is related to Member:99, which is not there"},
				object{"check": "versions", "table": "asset_version", "id": 7, "text": longest})
		},
		"running": func() { s.checked(1, 4, "attributes") },
	} {
		show()
		b := newTab(t, s.origin)
		signIn(b, "admin", password)
		inspect(b, shown{name: "system-" + what, path: "/alds/ui/system"}, widths)
	}
}
