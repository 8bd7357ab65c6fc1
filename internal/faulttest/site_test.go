package faulttest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/testdb"
)

func TestMain(m *testing.M) {
	code := testdb.Run(m)
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// built are the commands, once for all tests.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// build builds the commands and returns their folder.
func build(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "alds"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", built.dir+"/", "../../cmd/api", "../../cmd/worker", "../../cmd/scheduler", "../../cmd/standalone").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build the commands: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

const (
	adminPassword = "a password for faults"
	database      = "alds"
	answersIn     = 30 * time.Second // a process that was started, or that lost a server
)

// site is one installation: a MariaDB, a Redis, and the processes that are
// started on them.
type site struct {
	t       *testing.T
	dir     string // of the commands
	env     []string
	mariadb *testdb.Own
	redis   *testdb.Own
	mysql   string // DATABASE_URL
	base    string // http://host:port/instance
	logs    *logs
	db      *db.DB // for looking from outside
}

// newSite makes an empty installation with a current schema.
func newSite(t *testing.T, settings ...string) *site {
	t.Helper()
	addr := freeAddr(t)
	s := &site{
		t: t, dir: build(t), mariadb: testdb.OwnMySQL(t), redis: testdb.OwnRedis(t),
		base: "http://" + addr + "/alds", logs: &logs{},
	}
	s.mysql = s.mariadb.URL + "/" + database
	s.createDatabase()
	s.env = append(os.Environ(),
		"ALDS_ADDR="+addr, "DATABASE_URL="+s.mysql, "REDIS_URL="+s.redis.URL,
		"ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=",
		"ALDS_LOG_LEVEL=warn", "ALDS_WEBHOOK_ALLOW_PRIVATE=1", "ALDS_WEBHOOK_RETRY_SCHEDULE=1s,2s,4s,8s",
	)
	s.env = append(s.env, settings...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the ends of the logs:\n%s", s.logs)
		}
	})
	s.start("api", "migrate").wait()
	var err error
	if s.db, err = db.Open(t.Context(), s.mysql, db.Options{MaxConns: 8}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

func (s *site) createDatabase() {
	s.t.Helper()
	d, err := db.Open(s.t.Context(), s.mariadb.URL+"/information_schema", db.Options{MaxConns: 2})
	if err != nil {
		s.t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Exec(s.t.Context(), "CREATE DATABASE "+database+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		s.t.Fatal(err)
	}
}

// process is one started command.
type process struct {
	site  *site
	cmd   *exec.Cmd
	out   bytes.Buffer  // what it printed; to be read once it has ended
	ended chan struct{} // closed when it has ended
	err   error         // how; to be read once it has ended
}

// start runs a command until the test ends or it is killed.
func (s *site) start(name string, args ...string) *process {
	s.t.Helper()
	p := &process{site: s, cmd: exec.Command(filepath.Join(s.dir, name), args...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr, p.cmd.Stdout, p.cmd.SysProcAttr = s.env, s.logs, &p.out, testdb.WithParent()
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

// stop tells a process to end in order, and waits until it has.
func (p *process) stop() {
	p.site.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-p.ended:
		if p.err != nil {
			p.site.t.Errorf("%s, told to end: %v", p.cmd.Args[0], p.err)
		}
	case <-time.After(answersIn):
		p.site.t.Errorf("%s did not end within %s of SIGTERM", p.cmd.Args[0], answersIn)
		p.kill()
	}
}

// mustRun fails the test when a process has ended that nobody ended.
func (p *process) mustRun() {
	p.site.t.Helper()
	select {
	case <-p.ended:
		p.site.t.Fatalf("%s ended by itself: %v", p.cmd.Args[0], p.err)
	default:
	}
}

// wait waits until a command that ends by itself has done its work.
func (p *process) wait() {
	p.site.t.Helper()
	<-p.ended
	if p.err != nil {
		p.site.t.Errorf("%s: %v\n%.3000s", strings.Join(p.cmd.Args, " "), p.err, &p.out)
	}
}

// startAPI starts an api and waits until it answers.
func (s *site) startAPI() *process {
	s.t.Helper()
	p := s.start("api")
	if !answers(s.t.Context(), s.base) {
		s.t.Fatal("the api does not answer")
	}
	return p
}

// startBeside starts a worker or scheduler and waits until it is ready: one that
// finds no database at its start waits for it.
func (s *site) startBeside(name string) *process {
	s.t.Helper()
	admin := freeAddr(s.t)
	p := s.startAt(admin, name)
	if !becomes(s.t.Context(), "http://"+admin+"/readyz", http.StatusOK) {
		s.t.Fatalf("%s does not become ready", name)
	}
	return p
}

// startAt starts a command whose metrics and health can be asked for at an
// address.
func (s *site) startAt(admin, name string) *process {
	s.t.Helper()
	env := s.env
	s.env = slices.Concat(env, []string{"ALDS_ADMIN_ADDR=" + admin})
	defer func() { s.env = env }()
	return s.start(name)
}

// answers waits until somebody answers at all.
func answers(ctx context.Context, url string) bool { return becomes(ctx, url, 0) }

// becomes waits until somebody answers with a status; 0 stands for any.
func becomes(ctx context.Context, url string, status int) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(answersIn); time.Now().Before(end) && ctx.Err() == nil; <-tick.C {
		if res, err := http.Get(url); err == nil {
			res.Body.Close()
			if status == 0 || res.StatusCode == status {
				return true
			}
		}
	}
	return false
}

// sound runs api check, which reads the whole database and fails for every
// place where it disagrees with itself.
func (s *site) sound() {
	s.t.Helper()
	s.start("api", "check").wait()
}

// patiently tries something that a server which has just come back may refuse
// for the moment.
func (s *site) patiently(what string, try func() error) {
	s.t.Helper()
	for until := time.Now().Add(answersIn); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if fault.KindOf(err) != fault.Transient || time.Now().After(until) {
			s.t.Fatalf("%s: %v", what, err)
		}
	}
}

// count asks the database for one number.
func (s *site) count(query string, args ...any) (n int) {
	s.t.Helper()
	s.patiently(query, func() error { return s.db.QueryRow(s.t.Context(), query, args...).Scan(&n) })
	return n
}

// each scans the rows of a query; scan starts anew when begin is called.
func (s *site) each(query string, begin func(), scan func(rows *db.Rows) error, args ...any) {
	s.t.Helper()
	s.patiently(query, func() error {
		begin()
		rows, err := s.db.Query(s.t.Context(), query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return db.Fault(err)
			}
		}
		return db.Fault(rows.Err())
	})
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

// Write takes one line, as the logger writes them.
func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	l.lines = l.lines[max(0, len(l.lines)-80):]
	return len(b), nil
}

// String is the lines kept.
func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}
