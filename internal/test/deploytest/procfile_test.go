package deploytest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin") // Debian installs the proxies there
	flag.Parse()
	if testing.Short() { // most of the time the tests wait, so more of them can run at a time
		_ = flag.Set("test.parallel", "4")
	}
	testproc.Main(m)
}

// root is the repository, relative to this package.
const root = "../../.."

const password = "a password for a deployment"

// TestProcfile runs `make build` in a clean copy of the sources, and then the lines of the Procfile in
// their order, as a platform does. The release process must update the schema, web must listen on PORT, and
// the worker and the scheduler must run. With -short it uses programs that are already built.
func TestProcfile(t *testing.T) {
	t.Parallel()
	var dir string
	if testing.Short() {
		dir = builtCopy(t)
	} else {
		dir = cleanCopy(t)
		run(t, dir, nil, "make", "build")
	}
	addr := testproc.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	log := &testproc.Log{}
	env := append(os.Environ(),
		"DATABASE_URL="+testdb.EmptyURL(t, "mysql")+"?reconnect=true&pool=hunter2", "REDIS_URL="+testdb.Redis(t), "PORT="+port,
		"ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_ADMIN_PASSWORD="+password, "ALDS_DB_CONNS=12", "ALDS_ADDR=", "ALDS_ADMIN_ADDR=",
	)
	lines := procfile(t, dir)
	if names := slices.Collect(namesOf(lines)); !slices.Equal(names, []string{"release", "web", "worker", "scheduler"}) {
		t.Fatalf("the Procfile has %v", names)
	}
	for _, line := range lines {
		if line.process == "release" {
			run(t, dir, env, "sh", "-c", line.command)
			continue
		}
		begin(t, dir, env, log, strings.TrimPrefix(line.command, "exec "))
	}
	serves(t, "http://127.0.0.1:"+port+"/alds", log, []string{"api", "scheduler", "worker"})
	if text := log.String(); !strings.Contains(text, `"setting":"DATABASE_URL","parameters":["pool","reconnect"]`) || strings.Contains(text, "hunter2") {
		t.Errorf("what is ignored of the address is not named:\n%s", text)
	}
}

type procfileLine struct{ process, command string }

func procfile(t *testing.T, dir string) (all []procfileLine) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "Procfile"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		process, command, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all = append(all, procfileLine{process, command})
	}
	return all
}

func namesOf(lines []procfileLine) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, l := range lines {
			if !yield(l.process) {
				return
			}
		}
	}
}

// rolesThatRun returns the roles of the running processes according to api/system.
func rolesThatRun(t *testing.T, base string) (roles []string) {
	t.Helper()
	var system struct {
		Processes []struct {
			Role string `json:"role"`
		} `json:"processes"`
	}
	if err := json.Unmarshal([]byte(ask(t, http.MethodGet, base+"/api/system", "")), &system); err != nil {
		t.Fatal(err)
	}
	for _, p := range system.Processes {
		roles = append(roles, p.Role)
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// ask sends a request as the administrator and returns the answer. The request must succeed.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("admin", password)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %v\n%s", method, url, res.StatusCode, err, text)
	}
	return string(text)
}

// builtCopy returns a folder with the Procfile and the programs that are already built.
func builtCopy(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, "Procfile"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "Procfile"), text, 0o600)
	}
	if err == nil {
		err = os.Symlink(testproc.Built(t), filepath.Join(dir, "bin"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// cleanCopy returns a folder with a copy of the files that git tracks or would add. It has no build
// results.
func cleanCopy(t *testing.T) (dir string) {
	t.Helper()
	testdb.Runs(t, "git", "-C", root, "rev-parse")
	testdb.Runs(t, "make", "--version")
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // the file was deleted, but the deletion is not committed yet
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a command until the command ends, and returns the output. The command must succeed.
func run(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...) //nolint:gosec // a command of the test
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// begin starts a command and stops it at the end of the test. The command must then end without an error.
func begin(t *testing.T, dir string, env []string, log io.Writer, command string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "exec "+command) //nolint:gosec,noctx // a line of the Procfile, stopped below
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.SysProcAttr = dir, env, log, testdb.WithParent()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v%s", command, err, fmt.Sprintf("\n%s", log))
		}
	})
}
