package command

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

var manyAssets = flag.Int("command.assets", 100_000, "number of assets in the large databases of TestEveryCommand")

const (
	// pause is how long the reader of an export waits before its second read. The pause is longer
	// than the minute after which a server ends a statement of alds.
	pause = 75 * time.Second
	// longest is how long one statement of a command may take, at any size of the database.
	longest = 20 * time.Second
)

// TestEveryCommand runs every command of api on a large database and on a database with unusual
// values. The export of the restored database must equal the first export, although the reader of
// the exports pauses.
//
//	go test ./internal/app/command -run TestEveryCommand -v -timeout 5h
//	go test ./internal/app/command -run TestEveryCommand/large/mysql -v -timeout 20h -command.assets 10000000
func TestEveryCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: an export pauses for longer than a statement may take; TestCommandsOnADatabase runs the commands")
	}
	for _, content := range []struct {
		name string
		fill func(t *testing.T, dialect string) (url string)
	}{{"odd", oddDatabase}, {"large", largeDatabase}} {
		for _, dialect := range []string{"sqlite", "mysql"} {
			t.Run(content.name+"/"+dialect, func(t *testing.T) {
				everyCommand(t, dialect, content.fill(t, dialect))
			})
		}
	}
}

// everyCommand runs all commands on the database with this URL.
func everyCommand(t *testing.T, dialect, url string) {
	settings := map[string]string{"DATABASE_URL": url, "ALDS_SECRET_KEY": testKey, "ALDS_ADMIN_PASSWORD": "right"}
	slowest := watchStatements(t, dialect, url)
	run := map[string]bool{}
	do := func(c commandCase) {
		t.Helper()
		began := time.Now()
		c.run(t, settings)
		t.Logf("%s: %s", c.line, time.Since(began).Round(time.Millisecond))
		for name := range leaves() {
			if strings.HasPrefix(c.line+" ", "api "+name+" ") {
				run[name] = true
			}
		}
	}
	agrees := "the database agrees with itself"
	do(commandCase{line: "api migrate --check", stdout: "no migration is missing"})
	do(commandCase{line: "api migrate", stderr: "schema is up to date"})
	do(commandCase{line: "api check", stdout: agrees})
	do(commandCase{line: "api repair", stdout: agrees})
	testdb.Exec(t, open(t, settings), `DELETE FROM scope_closure WHERE depth = 1`)
	do(commandCase{line: "api check", status: 1, stdout: "project tree: ", stderr: "findings"})
	do(commandCase{line: "api repair --yes", stdout: "project tree: |findings repaired"})
	do(commandCase{line: "api check", stdout: agrees})
	do(commandCase{line: "api settings StoryTrackingLevel=On", stdout: "StoryTrackingLevel=On"})
	do(commandCase{line: "api token create --member admin --name nightly --expires 2h", stdout: "1."})
	do(commandCase{line: "api token list", stdout: "nightly"})
	do(commandCase{line: "api token revoke " + tokenID(t, settings), stdout: "revoked"})
	do(commandCase{line: "api password --member admin", stdin: "second", stdout: "is set"})
	do(commandCase{line: "api rotate-key", env: "ALDS_SECRET_KEY=BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=," + testKey, stdout: "sealed anew: "})
	do(commandCase{line: "api rotate-key", env: "ALDS_SECRET_KEY=" + testKey + ",BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=", stdout: "sealed anew: "})

	other := map[string]string{"DATABASE_URL": testdb.EmptyURL(t, dialect)}
	began := time.Now()
	digest := copyTo(t, settings, other)
	t.Logf("api export | api restore, with a pause of %s: %s", pause, time.Since(began).Round(time.Millisecond))
	run["export"], run["restore"] = true, true
	settings = other
	do(commandCase{line: "api check", stdout: agrees})
	if again := copyTo(t, settings, nil); again != digest {
		t.Error("the export of the restored database differs")
	}

	settings["ALDS_SECRET_KEY"], settings["REDIS_URL"], settings["ALDS_ADMIN_ADDR"] = testKey, testdb.Redis(t), testproc.FreeAddr(t)
	t.Run("service", func(t *testing.T) {
		base, token := testproc.ServeWithToken(t, dialect, settings)
		do(commandCase{line: "api health", stdout: "ok"})
		file := filepath.Join(t.TempDir(), "items.jsonl")
		if err := os.WriteFile(file, []byte(`{"AssetType": "Story", "Name": "imported", "Scope": "Scope:0", "Reference": "imported-1"}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		do(commandCase{line: "api import jsonl " + file, env: "ALDS_URL=" + base + " ALDS_TOKEN=" + token, stdout: "1"})
	})
	do(commandCase{line: "api check", stdout: agrees})
	for name := range leaves() {
		if !run[name] {
			t.Errorf("the command %s was not run", name)
		}
	}
	if took, statement := slowest(); took > longest {
		t.Errorf("a statement took %s:\n%s", took, statement)
	} else {
		t.Logf("the slowest statement took %s: %.200s", took, statement)
	}
}

// leaves returns the names of the commands of api.
func leaves() map[string]bool {
	names := map[string]bool{}
	for _, n := range kong.Must(&apiCommands{}, kong.Vars{"version": ""}).Model.Leaves(true) {
		names[n.Path()] = true
	}
	return names
}

// tokenID returns the id of the only access token.
func tokenID(t *testing.T, settings map[string]string) string {
	t.Helper()
	var id string
	if err := open(t, settings).QueryRow(t.Context(), `SELECT MAX(id) FROM access_token`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// copyTo exports a database and returns a hash of the export. The settings of this database are in
// from. Unless to is nil, copyTo restores the export into the database with the settings in to. The
// reader of the export pauses once.
func copyTo(t *testing.T, from, to map[string]string) (digest string) {
	t.Helper()
	sum := sha256.New()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(t.Context(), []string{"export"}, outside{quiet(from), nil, write}, app.API)
		_ = write.CloseWithError(err)
		ended <- err
	}()
	slow := io.TeeReader(&pausing{read: read}, sum)
	err := error(nil)
	if to == nil {
		_, err = io.Copy(io.Discard, slow)
	} else {
		err = run(t.Context(), []string{"restore"}, outside{quiet(to), slow, io.Discard}, app.API)
	}
	if err != nil {
		t.Errorf("restore: %v", err)
	}
	_ = read.Close()
	if err := <-ended; err != nil {
		t.Fatalf("export: %v", err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// pausing is a reader that pauses before its second read.
type pausing struct {
	read  io.Reader
	reads int
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.reads++; p.reads == 2 {
		time.Sleep(pause)
	}
	return p.read.Read(b)
}

// watchStatements observes the statements that run on a database of a MySQL server, until the test ends. slowest
// returns the time and the text of the slowest statement so far. For SQLite, it returns 0 and no
// text.
func watchStatements(t *testing.T, dialect, url string) (slowest func() (time.Duration, string)) {
	t.Helper()
	if dialect != "mysql" {
		return func() (time.Duration, string) { return 0, "" }
	}
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	var most int64
	var statement string
	var mu sync.Mutex
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			_ = db.Each(t.Context(), d, `SELECT TIME * 1000, COALESCE(INFO, '') FROM information_schema.PROCESSLIST WHERE COMMAND IN ('Query', 'Execute') AND DB = DATABASE()`, nil, func(row db.Scanner) error {
				var ms int64
				var text string
				if err := row.Scan(&ms, &text); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if ms > most {
					most, statement = ms, text
				}
				return nil
			})
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		_ = d.Close()
	})
	return func() (time.Duration, string) {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(most) * time.Millisecond, statement
	}
}

// serving runs the service on a database while do runs. base is the base URL of the service.
func serving(t *testing.T, dialect, url string, do func(base string)) {
	t.Helper()
	ok := t.Run("serving", func(t *testing.T) {
		do(testproc.Serve(t, dialect, map[string]string{
			"DATABASE_URL": url, "REDIS_URL": testdb.Redis(t), "ALDS_ADMIN_PASSWORD": "right", "ALDS_WEBHOOK_ALLOW_PRIVATE": "1",
			"ALDS_MAX_ASSETS": "20000",
		}))
	})
	if !ok {
		t.FailNow()
	}
}

// changed sends commands to the service. All of them must succeed. It returns the Oids of the
// created assets.
func changed(t *testing.T, base string, commands any) []string {
	t.Helper()
	body, err := json.Marshal(commands)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		AssetsCreated   struct{ OidTokens []string }
		CommandFailures struct{ Commands []any }
	}
	text := ask(t, http.MethodPost, base+"/api/asset", string(body))
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.CommandFailures.Commands) > 0 {
		t.Fatalf("%.300s\nwas answered %.1000s", body, text)
	}
	return answer.AssetsCreated.OidTokens
}

type asset = map[string]any

// largeDatabase returns the URL of a database with about *manyAssets assets. It creates a project
// in which items have links, tags, texts and several versions. Then it copies the rows of the
// project many times.
func largeDatabase(t *testing.T, dialect string) string {
	t.Helper()
	const items, inItem = 400, 5
	url := testdb.EmptyURL(t, dialect)
	settings := map[string]string{"DATABASE_URL": url}
	serving(t, dialect, url, func(base string) {
		changed(t, base, []any{
			asset{"AssetType": "Member", "Name": "m", "Nickname": "m", "Username": "m", "DefaultRole": "Role:4"},
			asset{"AssetType": "Team", "Name": "t"},
		})
	})
	earlier := exported(t, settings)
	serving(t, dialect, url, func(base string) {
		project := asset{"AssetType": "Scope", "Name": "P", "Parent": "Scope:0", "BeginDate": "2026-01-01"}
		var stories []any
		for i := range items {
			var tasks []any
			for j := range inItem - 1 {
				tasks = append(tasks, asset{"AssetType": "Task", "Name": fmt.Sprintf("task %d of %d", j, i), "ToDo": j, "Owners": []string{"Member:20"}})
			}
			stories = append(stories, asset{
				"AssetType": "Story", "Name": fmt.Sprintf("story %d", i), "Estimate": i % 13, "Owners": []string{"Member:20"},
				"TaggedWith": []string{"blue", fmt.Sprintf("t%d", i%7)}, "Description": "<p>" + strings.Repeat("words and words ", 1+i%90) + "</p>", "Children": tasks,
			})
		}
		project["Workitems"] = stories
		changed(t, base, []any{project})
		changed(t, base, asset{"from": "Story", "where": asset{"Scope.Name": "P"}, "update": asset{"Status": "StoryStatus:134"}})
		changed(t, base, asset{"from": "Story", "where": asset{"Scope.Name": "P", "Name": "story 3"}, "execute": "Delete"})
	})
	m := newMultiplier(t, earlier, exported(t, settings), max(1, *manyAssets/(items*inItem)))
	copied := testdb.EmptyURL(t, dialect)
	read, write := io.Pipe()
	made := make(chan int, 1)
	go func() {
		made <- m.write(t, write)
		_ = write.Close()
	}()
	began := time.Now()
	if err := run(t.Context(), []string{"restore"}, outside{quiet(map[string]string{"DATABASE_URL": copied}), read, io.Discard}, app.API); err != nil {
		_ = read.CloseWithError(err)
		t.Fatalf("restore: %v", err)
	}
	t.Logf("%d assets in %s", <-made, time.Since(began).Round(time.Second))
	return copied
}

// oddDatabase returns the URL of a database with values at their limits and rows in unusual states.
func oddDatabase(t *testing.T, dialect string) string {
	t.Helper()
	url := testdb.EmptyURL(t, dialect)
	serving(t, dialect, url, func(base string) {
		for _, body := range writes {
			changed(t, base, json.RawMessage(body))
		}
		odd := "\u0000\u0001\ufeff\u202e\u2028 \U0001f469\u200d\U0001f680 e\u0301 \\ \" ' % _ ` \r\n\t " + "\U0010ffff"
		deep := asset{"AssetType": "Scope", "Name": "deepest", "BeginDate": "0001-01-01", "EndDate": "9999-12-31"}
		for i := range 30 {
			deep = asset{"AssetType": "Scope", "Name": fmt.Sprintf("level %d", i), "BeginDate": "2026-01-01", "Children": []any{deep}}
		}
		deep["Parent"] = "Scope:0"
		changed(t, base, []any{deep})
		var tags, many []any
		for i := range 900 {
			tags = append(tags, fmt.Sprintf("%d%s", i, odd))
			many = append(many, asset{"AssetType": "Story", "Name": fmt.Sprint(i), "Scope": "Scope:0"})
		}
		odds := changed(t, base, []any{
			asset{"AssetType": "Story", "Name": odd, "Scope": "Scope:0", "Description": odd + strings.Repeat("\U0001f469", 500_000), "TaggedWith": tags, "Estimate": 1e15, "ToDo": 5e-324},
			asset{"AssetType": "Defect", "Name": strings.Repeat("ẞ", 255), "Scope": "Scope:0", "Reference": " "},
			asset{"AssetType": "Member", "Name": odd, "Nickname": odd, "Username": "odd", "Password": "not a short one", "DefaultRole": "Role:4"},
			asset{"AssetType": "Team", "Name": odd},
		})
		stories := changed(t, base, many)
		changed(t, base, asset{"from": odds[0], "update": asset{"Dependants": stories}})
		for i := range 300 {
			changed(t, base, asset{"from": odds[0], "update": asset{"Reference": fmt.Sprint(i, odd), "Estimate": i}})
		}
		changed(t, base, []any{
			asset{"from": "Member", "where": asset{"Username": "odd"}, "execute": "Inactivate"},
			asset{"from": "Team", "where": asset{"Name": odd}, "execute": "Delete"},
			asset{"from": "Scope", "where": asset{"Name": "deepest"}, "execute": "Inactivate"},
			asset{"from": "Story", "where": asset{"Name": "7"}, "execute": "Delete"},
		})
		content := strings.Repeat("\x00\xff\r\n", 1<<20)
		file := changed(t, base, []any{asset{"AssetType": "Attachment", "Name": odd, "Asset": odds[0]}})
		_, id, _ := strings.Cut(file[0], ":")
		id, _, _ = strings.Cut(id, ":")
		ask(t, http.MethodPost, base+"/attachment.img/"+id, content)
		ask(t, http.MethodPost, base+"/api/webhook", `{"url": "http://127.0.0.1:9/", "enabled": true, "authorizationHeader": "Bearer x", "secret": "generate", "eventTypes": [{"type": "AssetChanged", "from": "Story"}]}`)
		changed(t, base, asset{"from": "Story", "where": asset{"Scope": "Scope:0"}, "update": asset{"Estimate": 2}})
	})
	return url
}
