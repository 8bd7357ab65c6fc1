package testdb

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// server is the MySQL or MariaDB server that the tests use.
type server struct {
	base     *url.URL
	admin    *db.DB
	recorder *Recorder // proxy for all connections except those of admin
	template template
}

// local is the server that this test binary uses. It is looked for only once.
var local struct {
	once   sync.Once
	server *server
	err    error
}

var made atomic.Int64 // number of databases that this test binary has created

func mysqlServer(t testing.TB) *server {
	t.Helper()
	local.once.Do(func() { local.server, local.err = findServer(usualServer()) })
	if local.err != nil {
		missing(t, "MySQL or MariaDB", local.err)
	}
	return local.server
}

// missing skips the test, or fails it with REQUIRE_SERVICES=1. what is the name of the service that is
// missing.
func missing(t testing.TB, what string, err error) {
	t.Helper()
	if os.Getenv("REQUIRE_SERVICES") == "1" {
		t.Fatalf("%s is required and does not answer: %v", what, err)
	}
	t.Skipf("%s does not answer, so this is not tested here: %v", what, err)
}

// Address checks that connections can use an address of this machine as their source. On Linux all
// addresses in 127.0.0.0/8 work, on other systems only configured addresses. If the address does not work,
// the test is skipped, or fails with REQUIRE_SERVICES=1.
func Address(t testing.TB, address string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		missing(t, address+", as an address of this machine,", err)
		return
	}
	_ = l.Close()
}

// commandEndsIn is how long a command may take. A command that installs a package connects to a registry.
const commandEndsIn = 3 * time.Minute

// Runs checks that a command such as "node", "--version" succeeds on this machine. If it fails, the test is
// skipped, or fails with REQUIRE_SERVICES=1.
func Runs(t testing.TB, command ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandEndsIn)
	defer cancel()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // a command of the test
	if err != nil {
		missing(t, "the command "+strings.Join(command, " "), fmt.Errorf("%w\n%s", err, out))
	}
}

// usualServer returns the address from the environment, or the address of a local server.
func usualServer() string {
	return cmp.Or(os.Getenv("ALDS_TEST_MYSQL"), "mysql://root@127.0.0.1:3306")
}

func findServer(address string) (*server, error) {
	s, err := openServer(address)
	if err != nil {
		return nil, err
	}
	s.sweep()
	s.recorder, err = newRecorder(s.base.Host)
	return s, err
}

func openServer(address string) (*server, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	s := &server{base: base}
	s.admin, err = db.Open(context.Background(), s.url("information_schema"), db.Options{MaxConns: 2})
	return s, err
}

func (s *server) url(name string) string {
	u := *s.base
	u.Path = "/" + name
	if s.recorder != nil {
		u.Host = s.recorder.Addr
	}
	return u.String()
}

// create creates a database and returns its name: alds_test_<package>_<process>_<number>.
func (s *server) create(t testing.TB) string {
	t.Helper()
	pkg := strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")
	pkg = regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(strings.ToLower(pkg), "")
	name := fmt.Sprintf("alds_test_%.20s_%d_%d", pkg, os.Getpid(), made.Add(1))
	if _, err := s.admin.Exec(context.Background(), "CREATE DATABASE `"+name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		t.Fatalf("create the test database: %v", err)
	}
	return name
}

func (s *server) drop(name string) {
	_, _ = s.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS `"+name+"`")
}

var ours = regexp.MustCompile(`^alds_test_[a-z0-9]*_([0-9]+)_[0-9]+$`)

// Sweep drops the databases that killed test processes have left on the usual server.
func Sweep() {
	if s, err := openServer(usualServer()); err == nil {
		s.sweep()
		_ = s.admin.Close()
	}
}

// sweep drops the databases of test processes that have ended, but only on a server of this machine. On
// another server, databases may belong to processes of other machines.
func (s *server) sweep() {
	if ip := net.ParseIP(s.base.Hostname()); s.base.Hostname() != "localhost" && !ip.IsLoopback() {
		return
	}
	for _, name := range s.databases() {
		if m := ours.FindStringSubmatch(name); m != nil {
			if pid, err := strconv.Atoi(m[1]); err == nil && HasEnded(pid) {
				s.drop(name)
			}
		}
	}
}

// HasEnded reports whether a process of this machine has ended. A process that has ended can still be in
// the list of processes, until its parent asks for its exit status.
func HasEnded(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // only Linux has this file
	return strings.Contains(string(stat), ") Z ")
}

// databases returns the names of the databases of a server, or nil after an error.
func (s *server) databases() (all []string) {
	rows, err := s.admin.Query(context.Background(), "SELECT schema_name FROM information_schema.schemata")
	if err != nil {
		return nil
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if rows.Scan(&name) != nil {
			break
		}
		all = append(all, name)
	}
	_ = rows.Err()
	return all
}
