package watchtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

const password = "a password for watching"

// installation is the processes on one database. They are an api, a worker and a scheduler on MariaDB and
// Redis, or one standalone.
type installation struct {
	t         *testing.T
	job       string
	base      string // http://host:port/instance
	database  string // DATABASE_URL
	env       []string
	mariadb   *testdb.Own // nil: the shared server or SQLite
	redis     *testdb.Own // nil: none, for a standalone
	processes []*process
	project   string
}

// process is a process of an installation. admin is the address at which it serves its metrics.
type process struct {
	*testproc.Process
	role, admin string
}

// plan says how an installation is started.
type plan struct {
	roles    []string // api, worker and scheduler; empty: one standalone
	mysql    bool     // true: a standalone uses MariaDB instead of SQLite
	own      []string // options of its own MariaDB; nil: the shared server
	settings []string
}

var allRoles = []string{"api", "worker", "scheduler"}

// many starts a MariaDB for many installations. It allows enough connections for all of them.
func many(t *testing.T) *testdb.Own {
	t.Helper()
	return testdb.OwnMySQL(t, "--max-connections=2000")
}

// install starts the processes of an installation as plan p says. It does not wait until they are ready;
// the method ready does that.
func install(t *testing.T, shared *testdb.Own, job string, p plan) *installation {
	t.Helper()
	addr := testproc.FreeAddr(t)
	i := &installation{t: t, job: job, base: "http://" + addr + "/alds"}
	data := t.TempDir()
	i.env = append(os.Environ(), "ALDS_ADDR="+addr, "ALDS_DATA_DIR="+data, "ALDS_ADMIN_PASSWORD="+password, "ALDS_LOG_LEVEL=warn",
		"ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_WEBHOOK_ALLOW_PRIVATE=1")
	i.env = append(i.env, p.settings...)
	switch {
	case p.own != nil:
		i.mariadb = testdb.OwnMySQL(t, p.own...)
		i.createDatabase(i.mariadb)
	case p.mysql || p.roles != nil:
		i.createDatabase(shared)
	default:
		i.database = "sqlite:" + data + "/alds.db"
	}
	i.env = append(i.env, "DATABASE_URL="+i.database)
	roles := p.roles
	if roles == nil {
		roles = []string{"standalone"}
	} else {
		i.redis = testdb.OwnRedis(t)
		i.env = append(i.env, "REDIS_URL="+i.redis.URL, "DATABASE_READ_URL="+i.database) // a replica without delay
		testproc.Start(t, testproc.Options{Env: i.env}, "api", "migrate").Wait()
	}
	for _, role := range roles {
		i.processes = append(i.processes, &process{role: role, admin: testproc.FreeAddr(t)})
		i.start(len(i.processes) - 1)
	}
	return i
}

func (i *installation) createDatabase(in *testdb.Own) {
	i.t.Helper()
	name := strings.ReplaceAll(i.job, "-", "_")
	i.database = in.URL + "/" + name
	d, err := db.Open(i.t.Context(), in.URL+"/information_schema", db.Options{MaxConns: 2})
	if err != nil {
		i.t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Exec(i.t.Context(), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		i.t.Fatal(err)
	}
}

// start starts the process with the index n, for the first time or again.
func (i *installation) start(n int) {
	i.t.Helper()
	p := i.processes[n]
	env := slices.Concat(i.env, []string{"ALDS_ADMIN_ADDR=" + p.admin})
	p.Process = testproc.Start(i.t, testproc.Options{Env: env}, p.role)
}

// ready waits until all processes are ready, and creates a project.
func (i *installation) ready() {
	i.t.Helper()
	for _, p := range i.processes {
		if !testproc.Becomes(i.t.Context(), "http://"+p.admin+"/readyz", http.StatusOK) {
			i.t.Fatalf("%s: %s does not become ready", i.job, p.role)
		}
	}
	var made struct {
		AssetsCreated struct {
			OIDTokens []string `json:"oidTokens"`
		} `json:"assetsCreated"`
	}
	text := i.mustPost("/api/asset", map[string]any{"AssetType": "Scope", "Name": "watched", "Parent": "Scope:0", "BeginDate": "2026-01-01"})
	if err := json.Unmarshal(text, &made); err != nil || len(made.AssetsCreated.OIDTokens) != 1 {
		i.t.Fatalf("%s: no project was made: %v %.300s", i.job, err, text)
	}
	i.project = made.AssetsCreated.OIDTokens[0]
}

// admins returns the addresses at which the processes serve their metrics.
func (i *installation) admins() (all []string) {
	for _, p := range i.processes {
		all = append(all, p.admin)
	}
	return all
}

// post sends a body and returns the answer. The status is 0 if there is no answer. headers has names and
// values in turn.
func (i *installation) post(ctx context.Context, path string, body any, headers ...string) (status int, text []byte) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return i.request(ctx, http.MethodPost, path, "admin", text, headers...)
}

func (i *installation) request(ctx context.Context, method, path, name string, body []byte, headers ...string) (status int, text []byte) {
	req, err := http.NewRequestWithContext(ctx, method, i.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	req.SetBasicAuth(name, password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer res.Body.Close()
	text, _ = io.ReadAll(res.Body)
	return res.StatusCode, text
}

func (i *installation) mustPost(path string, body any) []byte {
	i.t.Helper()
	status, text := i.post(i.t.Context(), path, body)
	if status != http.StatusOK && status != http.StatusCreated {
		i.t.Fatalf("%s: %s answered %d %.300s", i.job, path, status, text)
	}
	return text
}

// stories returns commands that create n stories. Each has a description of about size bytes.
func (i *installation) stories(n, size int) []any {
	all := make([]any, n)
	for k := range all {
		all[k] = map[string]any{"AssetType": "Story", "Scope": i.project, "Name": fmt.Sprint("story ", k), "Description": strings.Repeat("words ", size/6)}
	}
	return all
}

// subscribe creates a webhook subscription to new stories.
func (i *installation) subscribe(name, url string) {
	i.t.Helper()
	i.subscribeBatch(name, url, 100)
}

// subscribeBatch is like subscribe, with at most maxBatch events in a delivery.
func (i *installation) subscribeBatch(name, url string, maxBatch int) {
	i.t.Helper()
	i.mustPost("/api/webhook", map[string]any{
		"webhookId": name, "url": url, "enabled": true, "maxBatch": maxBatch,
		"eventTypes": []any{map[string]any{"type": "AssetCreated", "from": "Story"}},
	})
}

// repeat calls do in the background again and again, with a pause after each call, until the test ends.
func (i *installation) repeat(pause time.Duration, do func(ctx context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			do(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	})
	i.t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// work creates stories again and again until the test ends.
func (i *installation) work() {
	i.repeat(200*time.Millisecond, func(ctx context.Context) { i.post(ctx, "/api/asset", i.stories(1, 60)) })
}

// open opens the database, for direct reads and changes by the test.
func (i *installation) open() *db.DB {
	i.t.Helper()
	d, err := db.Open(i.t.Context(), i.database, db.Options{MaxConns: 4, WriteLimit: 10 * time.Minute})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (i *installation) exec(query string, args ...any) {
	i.t.Helper()
	if _, err := i.open().Exec(i.t.Context(), query, args...); err != nil {
		i.t.Fatalf("%s: %s: %v", i.job, query, err)
	}
}
