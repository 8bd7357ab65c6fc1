package testdb

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// Own is a server for a single test. The test may kill the server and start it again with the same data.
// The server ends with the test.
type Own struct {
	URL string // URL of the server; for a MariaDB without the name of a database

	t    testing.TB
	name string
	args []string
	// further is called at each start. It returns additional options for this start only; nil: no
	// additional options.
	further func() []string
	attr    *syscall.SysProcAttr // attributes of the server's process
	env     []string             // environment of the server's process; nil: that of the test
	log     string               // file to which the server writes its log
	ready   func() error
	cmd     *exec.Cmd
	ended   chan struct{}
}

// ownStart is how long a server may take until it answers. A server that was killed must first recover its
// data.
const ownStart = 5 * time.Minute

// installed is the data of a new MariaDB. It is copied for each server. It is created only once, and kept
// for later test binaries.
var installed struct {
	once sync.Once
	dir  string
	err  error
}

const (
	// redoLog makes the data smaller, because the data is copied for each server.
	redoLog = "--innodb-log-file-size=16M"

	// flushed makes a commit write to the operating system without waiting for the disk. If the server is
	// killed, no commit is lost. Commits would be lost only in a crash of the operating system.
	flushed = "--innodb-flush-log-at-trx-commit=2"
)

func install(program, user string) (dir string, err error) {
	installed.once.Do(func() { installed.dir, installed.err = installIn(program, user) })
	return installed.dir, installed.err
}

// installIn creates the data of a new MariaDB, unless it is already kept. It returns the folder with the
// data.
func installIn(program, user string) (dir string, err error) {
	daemon, err := lookUp("mariadbd")
	if err != nil {
		return "", err
	}
	version, err := exec.Command(daemon, "--version").Output() //nolint:gosec // found in the usual places
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", daemon, err)
	}
	of := fnv.New64a()
	_, _ = of.Write(append(version, redoLog...)) // writing to a hash never fails
	kept, release, err := Keep(fmt.Sprintf("mariadb-%x", of.Sum64()))
	if err != nil {
		return "", err
	}
	defer release()
	dir = filepath.Join(kept, "data")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	unfinished := filepath.Join(kept, "unfinished")
	if err := os.RemoveAll(unfinished); err != nil {
		return "", err
	}
	cmd := exec.Command(program, "--no-defaults", user, "--datadir="+unfinished, redoLog, flushed, //nolint:gosec // found in the usual places
		"--auth-root-authentication-method=normal", "--skip-test-db")
	cmd.Env = append(os.Environ(), "TMPDIR="+kept)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return dir, os.Rename(unfinished, dir)
}

// OwnMySQL starts a MariaDB with its own data. If the programs of MariaDB are missing, the test is skipped,
// or fails with REQUIRE_SERVICES=1. The options apply to each start.
func OwnMySQL(t testing.TB, options ...string) *Own {
	t.Helper()
	o := ownMySQL(t, "MariaDB")
	o.With(options...)
	o.begin()
	return o
}

// ownMySQL is like OwnMySQL, but does not start the server.
func ownMySQL(t testing.TB, name string) *Own {
	t.Helper()
	daemon, installer := program(t, "mariadbd", "mariadb-server"), program(t, "mariadb-install-db", "mariadb-server")
	dir := scratch(t)
	data, user := filepath.Join(dir, "data"), fmt.Sprintf("--user=%d", os.Getuid())
	fresh, err := install(installer, user)
	if err == nil {
		err = os.CopyFS(data, os.DirFS(fresh))
	}
	if err != nil {
		t.Fatalf("install a MariaDB: %v", err)
	}
	port := Port(t)
	o := &Own{
		URL: "mysql://root@127.0.0.1:" + port, t: t, name: name, log: filepath.Join(dir, "log"), attr: WithParent(),
		args: []string{
			daemon, "--no-defaults", user, "--datadir=" + data, redoLog, flushed, "--bind-address=127.0.0.1", "--port=" + port,
			"--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"),
			// When a server starts, it removes the temporary tables in this folder. With a shared folder,
			// it would remove those of other servers.
			"--tmpdir=" + dir,
		},
	}
	o.ready = func() error {
		s, err := openServer(o.URL)
		if err == nil {
			err = s.admin.Close()
		}
		return err
	}
	return o
}

// AsTiDB starts a MariaDB that claims to be TiDB, so that alds sends it the statements for TiDB. It returns
// the URL of an empty database on this server, and the recorder that records the statements.
func AsTiDB(t testing.TB) (url string, r *Recorder) {
	t.Helper()
	o := OwnMySQL(t, "--version=8.0.11-TiDB-v8.5.0")
	if err := o.execute("CREATE DATABASE alds CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		t.Fatal(err)
	}
	r, err := newRecorder(strings.TrimPrefix(o.URL, "mysql://root@"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return "mysql://root@" + r.Addr + "/alds", r
}

// OpenAsTiDB is like AsTiDB, and also migrates and opens the database.
func OpenAsTiDB(t testing.TB) (*db.DB, *Recorder) {
	t.Helper()
	url, r := AsTiDB(t)
	return open(t, url), r
}

// OwnRedis starts a Redis that does not write to disk. If it is killed, all its data is lost.
func OwnRedis(t testing.TB) *Own {
	t.Helper()
	dir, port := scratch(t), Port(t)
	o := &Own{
		URL: "redis://127.0.0.1:" + port, t: t, name: "Redis", log: filepath.Join(dir, "log"), attr: WithParent(),
		args: []string{
			program(t, "redis-server", "redis-server"), "--port", port, "--bind", "127.0.0.1",
			"--save", "", "--appendonly", "no", "--dir", dir,
		},
	}
	o.ready = answersPing(port)
	o.begin()
	return o
}

func answersPing(port string) func() error {
	return func() error {
		c, err := dialRedis("127.0.0.1:"+port, "")
		if err == nil {
			_ = c.conn.Close()
		}
		return err
	}
}

// Slow makes a server pause and run in turn, as if its disk were slow. stands is the duration of each
// pause, works the duration of each run. end stops that.
func (o *Own) Slow(works, stands time.Duration) (end func()) {
	o.t.Helper()
	process := o.cmd.Process
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			_ = process.Signal(syscall.SIGSTOP)
			time.Sleep(stands)
			_ = process.Signal(syscall.SIGCONT)
			select {
			case <-over:
				return
			case <-time.After(works):
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

func (o *Own) begin() {
	o.t.Helper()
	o.endWithTest()
	o.Start()
}

func (o *Own) endWithTest() {
	o.t.Helper()
	o.t.Cleanup(func() {
		if o.t.Failed() {
			text, _ := os.ReadFile(o.log)
			o.t.Logf("the end of %s's log:\n%s", o.name, text[max(0, len(text)-3000):])
		}
		if o.cmd != nil && o.cmd.Process != nil { // the server was started at least once
			o.Kill()
		}
	})
}

// Start starts the server and waits until it answers.
func (o *Own) Start() {
	o.t.Helper()
	o.launch()
	o.await()
}

func (o *Own) launch() {
	o.t.Helper()
	log, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		o.t.Fatal(err)
	}
	defer log.Close()
	args := slices.Clone(o.args[1:])
	if o.further != nil {
		args = append(args, o.further()...)
	}
	o.cmd, o.ended = exec.Command(o.args[0], args...), make(chan struct{}) //nolint:gosec // a server of the test
	o.cmd.Stdout, o.cmd.Stderr, o.cmd.SysProcAttr, o.cmd.Env = log, log, o.attr, o.env
	if err := o.cmd.Start(); err != nil {
		o.t.Fatal(err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // ignored, because the test decides how the server ends
		close(ended)
	}(o.cmd, o.ended)
}

func (o *Own) await() {
	o.t.Helper()
	for until := time.Now().Add(ownStart); ; {
		err := o.ready()
		if err == nil {
			return
		}
		select {
		case <-o.ended:
			o.t.Fatalf("%s ended at its start", o.name)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(until) {
			o.t.Fatalf("%s does not answer within %s: %v", o.name, ownStart, err)
		}
	}
}

// With adds options for all later starts. If an option is given twice, the later one counts.
func (o *Own) With(options ...string) { o.args = append(o.args, options...) }

// Kill sends SIGKILL to the server and waits until it has ended.
func (o *Own) Kill() { o.end(syscall.SIGKILL) }

// Stop sends SIGTERM to the server and waits until it has ended.
func (o *Own) Stop() { o.end(syscall.SIGTERM) }

func (o *Own) end(s syscall.Signal) {
	o.t.Helper()
	_ = o.cmd.Process.Signal(s) // the server may have ended already
	select {
	case <-o.ended:
	case <-time.After(ownStart):
		o.t.Errorf("%s did not end within %s of %s", o.name, ownStart, s)
		_ = o.cmd.Process.Kill()
		<-o.ended
	}
}

// program returns the path of a program of a server. Debian installs such programs outside the PATH of
// users. If the program is missing, the test is skipped, or fails with REQUIRE_SERVICES=1.
func program(t testing.TB, name, pkg string) string {
	t.Helper()
	if found, err := lookUp(name); err == nil {
		return found
	}
	why := fmt.Sprintf("%s is not installed: this test starts servers of its own and needs their programs"+
		" (Debian: apt-get install %s)", name, pkg)
	if os.Getenv("REQUIRE_SERVICES") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

func lookUp(name string) (found string, err error) {
	for _, at := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if found, err = exec.LookPath(at); err == nil {
			return found, nil
		}
	}
	return "", err
}

// scratch returns a new temporary folder. Its path is short, because the path of a socket may have at most
// 107 bytes.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "alds")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
