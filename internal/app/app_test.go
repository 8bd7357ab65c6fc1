package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/test/testdb"
)

const testKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// adminPassword is the first password of the administrator in tests.
const adminPassword = "the first password"

// env returns a function that returns the value of a setting. For an ALDS_ADMIN_PASSWORD that
// settings does not have, it returns adminPassword.
func env(settings map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := settings[name]; ok || name != "ALDS_ADMIN_PASSWORD" {
			return value
		}
		return adminPassword
	}
}

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // four parallel tests on any number of cores, because they mostly wait
	auth.ForTests()
	testdb.Main(m)
}

// running is a service in this process.
type running struct {
	t     *testing.T
	base  string // base URL of the interface
	admin string // base URL of the admin listener
	stop  func() error
	lines *lines
}

// lines collects the log of a service, and sends each line to a channel.
type lines struct {
	w    *io.PipeWriter
	all  chan string
	seen bytes.Buffer
}

func newLines() *lines {
	r, w := io.Pipe()
	l, written := &lines{w: w, all: make(chan string)}, make(chan string)
	go func() {
		s := bufio.NewScanner(r)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			written <- s.Text()
		}
		close(written)
	}()
	go l.hand(written)
	return l
}

// hand receives each written line and sends it to l.all. It stores lines that the test has not
// read yet, so that the service never waits for the test.
func (l *lines) hand(written <-chan string) {
	defer close(l.all)
	for unread := []string(nil); written != nil || len(unread) > 0; {
		var next string
		var all chan<- string // nil if there is no unread line, so that select never sends
		if len(unread) > 0 {
			next, all = unread[0], l.all
		}
		select {
		case text, ok := <-written:
			if !ok {
				written = nil
				break
			}
			unread = append(unread, text)
		case all <- next:
			unread = unread[1:]
		}
	}
}

// startLine has the fields of the start line that the tests read.
type startLine struct {
	Msg, Admin string
	BaseURL    string `json:"base_url"`
}

// started waits for the start line of the service.
func (l *lines) started(t *testing.T, ended <-chan error) (line startLine) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case text := <-l.all:
			l.seen.WriteString(text + "\n")
			if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "started" {
				return line
			}
		case err := <-ended:
			t.Fatalf("ended before it started: %v\n%s", err, l.seen.String())
		case <-timeout:
			t.Fatalf("did not start\n%s", l.seen.String())
		}
	}
}

// start runs roles with these settings until the test ends or stop is called.
func start(t *testing.T, settings map[string]string, roles ...Role) *running {
	t.Helper()
	return startIn(t, Environment{Getenv: env(settings)}, roles...)
}

// startIn runs roles in an environment until the test ends or stop is called.
func startIn(t *testing.T, e Environment, roles ...Role) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := newLines()
	ended := make(chan error, 1)
	go func() {
		e.Stderr = l.w
		err := Run(ctx, e, roles...)
		l.w.Close()
		ended <- err
	}()
	line := l.started(t, ended)
	r := &running{t: t, base: line.BaseURL, admin: "http://" + line.Admin, lines: l}
	r.stop = func() error {
		cancel()
		if ended == nil {
			return nil
		}
		err := <-ended
		ended = nil
		return err
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
		if t.Failed() {
			for text := range l.all {
				t.Log(text)
			}
		}
	})
	return r
}

// newToken creates an access token of the administrator.
func newToken(t *testing.T, settings map[string]string) string {
	t.Helper()
	i, err := Open(t.Context(), Environment{Getenv: env(settings), Stderr: io.Discard}, API)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	token, err := i.Auth.CreateToken(t.Context(), "admin", auth.TokenOptions{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// do sends a request as admin and decodes the answer into out.
func (r *running) do(method, path, body string, out any) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, b)
	}
	if err := json.Unmarshal(b, out); err != nil {
		r.t.Fatalf("%s %s: %v\n%s", method, path, err, b)
	}
}

type bulkAnswer struct {
	AssetsCreated, AssetsModified struct {
		OidTokens []string
		Count     int
	}
	CommandFailures struct {
		Count    int
		Commands json.RawMessage
	}
}

// bulk runs commands that must not fail.
func (r *running) bulk(commands string) bulkAnswer {
	r.t.Helper()
	var a bulkAnswer
	r.do("POST", "/api/asset", commands, &a)
	if a.CommandFailures.Count != 0 {
		r.t.Fatalf("%s: %s", commands, a.CommandFailures.Commands)
	}
	return a
}

// received has the parts of a delivery that the tests read.
type received struct {
	Events []struct {
		WebhookID, EventType string
		TargetAsset          struct {
			OID string `json:"_oid"`
		}
		Snapshot []map[string]any
	}
}

func receiver(t *testing.T) (url string, events <-chan received) {
	t.Helper()
	ch := make(chan received, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var e received
		if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
			t.Errorf("a delivery is no JSON: %v", err)
		}
		ch <- e
	}))
	t.Cleanup(s.Close)
	return s.URL, ch
}

// round creates assets and reads them. Then it creates a subscription, changes an asset and
// receives the delivery.
func round(t *testing.T, r *running) {
	t.Helper()
	made := r.bulk(`{"AssetType": "Scope", "Name": "Garden", "Parent": "Scope:0", "BeginDate": "2026-01-01",
		"Workitems": [{"AssetType": "Story", "Name": "Dig"}, {"AssetType": "Story", "Name": "Sow"}]}`)
	if len(made.AssetsCreated.OidTokens) != 3 {
		t.Fatalf("created %v", made.AssetsCreated)
	}
	scope, story := momentless(made.AssetsCreated.OidTokens[0]), momentless(made.AssetsCreated.OidTokens[1])
	var rows [][]map[string]any
	r.do("POST", "/query.v1", fmt.Sprintf(`{"from": "Story", "select": ["Name", "Scope.Name"], "where": {"Scope": %q}, "sort": ["Name"]}`, scope), &rows)
	if len(rows) != 1 || len(rows[0]) != 2 || rows[0][0]["Name"] != "Dig" || rows[0][1]["Scope.Name"] != "Garden" {
		t.Fatalf("rows %v", rows)
	}
	url, events := receiver(t)
	var sub struct{ ID string }
	r.do("POST", "/api/webhook", fmt.Sprintf(`{"url": %q, "webhookId": "smoke", "description": "x", "enabled": true,
		"eventTypes": [{"type": "AssetChanged", "from": "Story", "select": ["Name"]}]}`, url), &sub)
	r.bulk(fmt.Sprintf(`{"from": %q, "update": {"Name": "Dig deeper"}}`, story))
	select {
	case got := <-events:
		e := got.Events[0]
		if len(got.Events) != 1 || e.WebhookID != "smoke" || e.EventType != "AssetChanged" ||
			!strings.HasPrefix(e.TargetAsset.OID, story+":") || e.Snapshot[0]["Name"] != "Dig deeper" {
			t.Fatalf("received %+v", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("no event arrived")
	}
	var receipts []struct{ WasReceived bool }
	for len(receipts) == 0 {
		r.do("GET", "/api/webhook/status/"+sub.ID, "", &receipts)
	}
	if !receipts[0].WasReceived {
		t.Errorf("receipts %+v", receipts)
	}
}

// momentless returns an Oid token without its moment: Story:1001 for Story:1001:17.
func momentless(token string) string {
	parts := strings.Split(token, ":")
	return strings.Join(parts[:min(2, len(parts))], ":")
}

func TestStandaloneSmoke(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": "127.0.0.1:0"}
	r := start(t, settings, Standalone)
	round(t, r)
	resp, err := http.Get(r.admin + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("readyz: %d", resp.StatusCode)
	}
	for path, host := range map[string]string{"/api/asset": "rebound.example.com", "/ui/sign-in": "rebound.example.com:8080"} {
		req, _ := http.NewRequest(http.MethodPost, r.base+path, strings.NewReader("[]"))
		req.Host = host
		req.SetBasicAuth("admin", adminPassword)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s for the host %s: %d", path, host, resp.StatusCode)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatalf("stopping: %v", err)
	}
	again := start(t, settings, Standalone)
	var rows [][]map[string]any
	again.do("POST", "/query.v1", `{"from": "Story", "select": ["Name"], "sort": ["Name"]}`, &rows)
	if len(rows) != 1 || len(rows[0]) != 2 || rows[0][0]["Name"] != "Dig deeper" {
		t.Errorf("after a restart: %v", rows)
	}
}

func TestThreeProcesses(t *testing.T) {
	t.Parallel()
	settings := map[string]string{
		"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": testdb.EmptyURL(t, "mysql"), "REDIS_URL": testdb.Redis(t),
		"ALDS_SECRET_KEY": testKey, "ALDS_WEBHOOK_ALLOW_PRIVATE": "1",
	}
	getenv := env(settings)
	ctx := t.Context()
	if err := Run(ctx, Environment{Getenv: getenv, Stderr: io.Discard}, API); err == nil || !strings.Contains(err.Error(), "the database is not ready") {
		t.Fatalf("on an empty database: %v", err)
	}
	for range 2 { // the second call changes nothing
		if err := Migrate(ctx, Environment{Getenv: getenv, Stderr: io.Discard}, API); err != nil {
			t.Fatal(err)
		}
	}
	token := newToken(t, settings)
	api := start(t, settings, API)
	start(t, settings, Worker)
	start(t, settings, Scheduler)
	round(t, api)
	req, _ := http.NewRequest(http.MethodGet, api.base+"/rest-1.v1/Data/Member?where=IsSelf=true&sel=Username", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(b), `"admin"`) {
		t.Errorf("the token check: %d %s", resp.StatusCode, b)
	}
}

func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		why      string
		role     Role
		settings map[string]string
		want     []string // parts of the message
	}{
		{"nothing is set", API, nil, []string{"DATABASE_URL", "REDIS_URL", "ALDS_SECRET_KEY"}},
		{
			"several settings are wrong", Standalone,
			map[string]string{"ALDS_WEBHOOK_RETRY_SCHEDULE": "soon", "ALDS_MAX_BODY": "big"},
			[]string{"ALDS_WEBHOOK_RETRY_SCHEDULE", "ALDS_MAX_BODY"},
		},
		{"nobody may log in to the database so", API, map[string]string{
			"DATABASE_URL": strings.Replace(testdb.EmptyURL(t, "mysql"), "//root@", "//nobody:hush@", 1), "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey,
		}, []string{"open the database", "Access denied"}},
		{"there is no such database", Worker, map[string]string{
			"DATABASE_URL": testdb.EmptyURL(t, "mysql") + "_none", "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey,
		}, []string{"open the database", "Unknown database"}},
		{"the schema is old", Scheduler, map[string]string{
			"DATABASE_URL": testdb.EmptyURL(t, "mysql"), "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey,
		}, []string{"the database is not ready", "run `api migrate`"}},
		{"the port is taken", Standalone, map[string]string{"ALDS_ADDR": taken.Addr().String()}, []string{"already in use", "PORT or ALDS_ADDR"}},
		{"others could reach the default password", Standalone, map[string]string{"ALDS_ADDR": "0.0.0.0:0"}, []string{"refusing to listen", "admin"}},
		{"others could reach it through the admin listener", Standalone, map[string]string{"ALDS_ADDR": "127.0.0.1:0", "ALDS_ADMIN_ADDR": "0.0.0.0:0"}, []string{"refusing to listen"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			dir := t.TempDir()
			getenv := func(k string) string {
				if k == "ALDS_DATA_DIR" {
					return dir
				}
				return c.settings[k]
			}
			err := Run(t.Context(), Environment{Getenv: getenv, Stderr: io.Discard}, c.role)
			if err == nil {
				t.Fatal("it ran")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
					t.Errorf("message lacks %q, or tells a secret: %v", want, err)
				}
			}
		})
	}
}
