package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/alds-dev/alds/internal/check"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

const adminPassword = "a password for faults"

// build builds the commands into a folder of the test's own.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", "../../cmd/api", "../../cmd/worker", "../../cmd/scheduler").CombinedOutput()
	if err != nil {
		t.Fatalf("build the commands: %v\n%s", err, out)
	}
	return dir
}

// site is one installation: a database, a Redis database, and the processes
// that are started on them.
type site struct {
	t     *testing.T
	dir   string // of the commands
	env   []string
	redis string
	mysql string // DATABASE_URL
	base  string // http://host:port/instance
	logs  *logs
}

// newSite makes an empty installation with a current schema.
func newSite(t *testing.T) *site {
	t.Helper()
	database, queue := testdb.EmptyURL(t, "mysql"), testdb.Redis(t)
	addr := freeAddr(t)
	s := &site{t: t, dir: build(t), redis: queue, mysql: database, base: "http://" + addr + "/alds", logs: &logs{}}
	s.env = append(os.Environ(),
		"ALDS_ADDR="+addr, "DATABASE_URL="+database, "REDIS_URL="+queue,
		"ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=",
		"ALDS_WEBHOOK_ALLOW_PRIVATE=1", "ALDS_WEBHOOK_RETRY_SCHEDULE=1s,2s,4s,8s",
	)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the ends of the logs:\n%s", s.logs)
		}
	})
	s.start("api", "migrate").wait()
	return s
}

// process is one started command.
type process struct {
	site  *site
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
	err   error         // how; to be read once it has ended
}

// start runs a command until the test ends or it is killed.
func (s *site) start(name string, args ...string) *process {
	s.t.Helper()
	p := &process{site: s, cmd: exec.Command(filepath.Join(s.dir, name), args...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr, p.cmd.Stdout = s.env, s.logs, s.logs
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	s.t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// wait waits until a command that ends by itself has done its work.
func (p *process) wait() {
	p.site.t.Helper()
	<-p.ended
	if p.err != nil {
		p.site.t.Fatalf("%s: %v", strings.Join(p.cmd.Args, " "), p.err)
	}
}

// startAPI starts an api and waits until it answers.
func (s *site) startAPI() *process {
	s.t.Helper()
	p := s.start("api")
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-tick.C {
		if res, err := http.Get(s.base); err == nil {
			res.Body.Close()
			return p
		}
	}
	s.t.Fatal("the api does not answer")
	return nil
}

// emptyRedis loses everything the queue held.
func (s *site) emptyRedis() {
	s.t.Helper()
	options, err := redis.ParseURL(s.redis)
	if err != nil {
		s.t.Fatal(err)
	}
	c := redis.NewClient(options)
	defer c.Close()
	if err := c.FlushDB(s.t.Context()).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// post sends a request and decodes what it is answered with; any status but
// 200 is an error.
func (s *site) post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d: %.300s", path, res.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}

// bulk is the part of a bulk answer that is looked at.
type bulk struct {
	AssetsCreated struct {
		OIDTokens []string `json:"oidTokens"`
	} `json:"assetsCreated"`
	CommandFailures struct {
		Count int `json:"count"`
	} `json:"commandFailures"`
}

// mustPost is post for what must succeed.
func (s *site) mustPost(path string, body, into any) {
	s.t.Helper()
	if err := s.post(s.t.Context(), path, body, into); err != nil {
		s.t.Fatal(err)
	}
}

// project makes a Scope and returns its Oid.
func (s *site) project(name string) string {
	s.t.Helper()
	var b bulk
	s.mustPost("/api/asset", map[string]any{"AssetType": "Scope", "Name": name, "Parent": "Scope:0", "BeginDate": "2026-01-01"}, &b)
	if len(b.AssetsCreated.OIDTokens) != 1 {
		s.t.Fatalf("the project was not created: %+v", b)
	}
	return b.AssetsCreated.OIDTokens[0]
}

// sound reads the whole database and fails for every place where it disagrees
// with itself.
func (s *site) sound() {
	s.t.Helper()
	d, err := db.Open(s.t.Context(), s.mysql, db.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer d.Close()
	findings, err := check.Run(s.t.Context(), d, meta.Default())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range findings[:min(len(findings), 10)] {
		s.t.Errorf("the database disagrees with itself: %s", f)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// logs keeps the last lines that the processes wrote.
type logs struct {
	mu    sync.Mutex
	lines []string
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	l.lines = l.lines[max(0, len(l.lines)-80):]
	return len(b), nil
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
