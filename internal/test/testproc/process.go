package testproc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// AnswersIn is how long a process may take to answer or to end.
const AnswersIn = 2 * time.Minute

// Main runs the tests of a package that starts commands, and exits. It does all that testdb.Main does, and
// removes the built commands.
func Main(m *testing.M) {
	code := testdb.Run(m)
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// built is the folder with the commands. All tests of a test binary share it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// commands are the commands of this repository.
var commands = []string{"api", "worker", "scheduler", "standalone"}

// Built returns the folder with the commands. The first call builds the commands.
func Built(t testing.TB) string {
	t.Helper()
	built.once.Do(func() { built.dir, built.err = buildIn(testdb.Root(t)) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// buildIn builds the commands of a source tree. It builds into a folder that all test binaries share, so
// that the next build is fast. Then it copies the commands to a folder of this test binary, because a build
// of another source tree would replace the shared files.
func buildIn(root string) (dir string, err error) {
	shared, release, err := testdb.Keep("commands")
	if err != nil {
		return "", err
	}
	defer release()
	args := []string{"build", "-trimpath", "-o", shared + "/"}
	for _, name := range commands {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...) //nolint:gosec // the commands of this repository
	cmd.Dir, cmd.Env = root, buildEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	if dir, err = os.MkdirTemp("", "alds"); err != nil {
		return "", err
	}
	for _, name := range commands {
		from, to := filepath.Join(shared, name), filepath.Join(dir, name)
		if os.Link(from, to) == nil { // go build replaces a file, and never writes into it
			continue
		}
		if err := copyProgram(from, to); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// buildEnv returns the environment that `make build` uses, so that packages are not compiled a second time.
func buildEnv() []string { return append(os.Environ(), "CGO_ENABLED=0") }

// copyProgram copies a program. It is for files on different file systems, where a link is not possible.
func copyProgram(from, to string) error {
	b, err := os.ReadFile(from) //nolint:gosec // it was just built
	if err == nil {
		err = os.WriteFile(to, b, 0o700) //nolint:gosec // it must be executable
	}
	return err
}

// BuildWith builds commands of a different release: this source tree, with some files added or replaced.
// files maps the path of such a file in the tree to its text. It returns the folder with the commands.
func BuildWith(t testing.TB, files map[string]string, names ...string) string {
	t.Helper()
	root, dir := testdb.Root(t), t.TempDir()
	replace := map[string]string{}
	for name, text := range files {
		file := filepath.Join(dir, strconv.Itoa(len(replace)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, name)] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-trimpath", "-overlay", filepath.Join(dir, "overlay"), "-o", dir + "/"}
	for _, name := range names {
		args = append(args, filepath.Join(root, "cmd", name))
	}
	cmd := exec.Command("go", args...) //nolint:gosec // the test's own folder
	cmd.Env = buildEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build another release: %v\n%s", err, out)
	}
	return dir
}

// BuildTree builds commands of another source tree, such as an older release. It returns the folder with
// the commands.
func BuildTree(t testing.TB, root string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-trimpath", "-o", dir + "/"}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...) //nolint:gosec // the commands of this repository
	cmd.Dir, cmd.Env = root, buildEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build another tree: %v\n%s", err, out)
	}
	return dir
}

// Options says how Start starts a command.
type Options struct {
	Dir string   // folder with the command; "": that of Built
	Env []string // all environment variables, as os.Environ returns them
	// Log also receives stderr, if it is not nil. The end of stderr is always in the log of a failed test.
	Log   io.Writer
	Files int // most file descriptors of the process; 0: as many as the test process may have
}

// Process is a running command.
type Process struct {
	Out bytes.Buffer // standard output; read it only after the process has ended

	t     testing.TB
	cmd   *exec.Cmd
	name  string
	log   *Log          // last lines of stderr
	ended chan struct{} // closed when the process has ended
	err   error         // result of Wait; read it only after the process has ended
}

// Start starts a command. When the test ends, it kills the process if the process still runs. The log of a
// failed test has the last lines that the process wrote to stderr.
func Start(t testing.TB, o Options, name string, args ...string) *Process {
	t.Helper()
	if o.Dir == "" {
		o.Dir = Built(t)
	}
	program := filepath.Join(o.Dir, name)
	cmd := exec.Command(program, args...) //nolint:gosec // a command of this repository
	if o.Files > 0 {
		cmd = exec.Command("sh", append([]string{"-c", "ulimit -n " + strconv.Itoa(o.Files) + ` && exec "$0" "$@"`, program}, args...)...) //nolint:gosec // a command of this repository
	}
	p := &Process{t: t, cmd: cmd, name: strings.Join(append([]string{name}, args...), " "), log: &Log{}, ended: make(chan struct{})}
	// testall sets GOGC for tests. A command must run without it, as on an operator's machine.
	cmd.Env = slices.DeleteFunc(slices.Clone(o.Env), func(v string) bool { return strings.HasPrefix(v, "GOGC=") })
	cmd.Stderr, cmd.Stdout, cmd.SysProcAttr = p.log, &p.Out, testdb.WithParent()
	if o.Log != nil {
		cmd.Stderr = io.MultiWriter(p.log, o.Log)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		if text := p.log.last(shownLines); t.Failed() && text != "" {
			t.Logf("the last lines of %s, process %d:\n%s", p.name, cmd.Process.Pid, text)
		}
	})
	return p
}

// shownLines is how many of the last lines of each process are in the log of a failed test.
const shownLines = 12

// Kill sends SIGKILL to the process and waits until it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // the process may have ended already
	<-p.ended
}

// Stop sends SIGTERM to the process and waits until it has ended. The test fails if the process returns an
// error or does not end within AnswersIn.
func (p *Process) Stop() {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // the process may have ended already
	select {
	case <-p.ended:
		if p.err != nil {
			p.t.Errorf("%s, told to end: %v", p.name, p.err)
		}
	case <-time.After(AnswersIn):
		p.t.Errorf("%s did not end within %s of SIGTERM", p.name, AnswersIn)
		p.Kill()
	}
}

// Freeze stops the process with SIGSTOP. Its connections stay open, and it does nothing until Thaw.
func (p *Process) Freeze() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw makes a frozen process continue.
func (p *Process) Thaw() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// MustRun fails the test if the process has ended.
func (p *Process) MustRun() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Fatalf("%s ended by itself: %v", p.name, p.err)
	default:
	}
}

// Wait waits until the process ends by itself. The test fails if the exit status is not 0.
func (p *Process) Wait() {
	p.t.Helper()
	<-p.ended
	if p.err != nil {
		p.t.Errorf("%s: %v\n%.3000s", p.name, p.err, &p.Out)
	}
}

// Status waits until the process has ended, and returns its exit status.
func (p *Process) Status() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// ForgetPeak makes Memory return only the peak from now on.
func (p *Process) ForgetPeak() error {
	return os.WriteFile("/proc/"+strconv.Itoa(p.cmd.Process.Pid)+"/clear_refs", []byte("5"), 0o600)
}

// Memory returns the current and the highest memory of the process in bytes. Both are 0 if the system does
// not report them.
func (p *Process) Memory() (now, most int64) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			now = kib << 10
		case "VmHWM:":
			most = kib << 10
		}
	}
	return now, most
}
