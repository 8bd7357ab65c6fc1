//go:build unix

package doctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// root is the repository, relative to this package.
const root = "../../.."

// prelude has shell functions that the tables use.
const prelude = `set -e -o pipefail
until_ok() { for _ in $(seq 600); do if "$@" >/dev/null 2>&1; then return; fi; sleep 0.1; done; echo "no success: $*"; "$@"; return 1; }
until_prints() { for _ in $(seq 600); do if grep -qE "$2" "$1" 2>/dev/null; then return; fi; sleep 0.1; done; echo "$1 lacks: $2"; cat "$1"; return 1; }
`

// place is the environment in which a shell runs the commands.
type place struct {
	folder  string   // the repository, or a fresh clone
	env     []string // variables added to the environment
	replace []string // pairs of a text in a document and its replacement in the test
	prelude string   // more shell functions
}

// follow runs the commands of a document in one shell at the root of the repository. It compares the output
// of each command with its row.
func follow(t *testing.T, path string, rows []row, env []string, replace ...string) {
	t.Helper()
	run(t, place{folder: root, env: env, replace: replace}, steps(t, path, rows))
}

// run runs steps in one shell, and compares the output of each step with its row.
func run(t *testing.T, p place, steps []step) {
	t.Helper()
	testdb.Runs(t, "bash", "--version")
	testdb.Runs(t, "curl", "--version")
	replaced := strings.NewReplacer(p.replace...)
	script := strings.Builder{}
	script.WriteString(prelude + p.prelude)
	for i, s := range steps {
		if s.not == "" {
			fmt.Fprintf(&script, "echo '%s%d'\n%s\n%s%s\n", mark, i, s.before, s.inShell(i, replaced), s.after)
		}
	}
	fmt.Fprintf(&script, "echo '%s%d'\n", mark, len(steps))
	printed, err := shell(t, p, script.String())
	outputs := map[string]string{}
	for part := range strings.SplitSeq(printed, mark) {
		number, output, _ := strings.Cut(part, "\n")
		outputs[number] = output
	}
	for i, s := range steps {
		output, ran := outputs[fmt.Sprint(i)]
		switch {
		case s.not != "":
		case !ran:
			t.Errorf("%snot reached", s)
		case err != nil && !ranAny(outputs, i+1, len(steps)):
			t.Errorf("%s%v\n%s", s, err, output)
		case !regexp.MustCompile(s.prints).MatchString(output):
			t.Errorf("%sprinted\n%s\nwant %s", s, output, s.prints)
		}
	}
	if err != nil && !t.Failed() {
		t.Errorf("%v\n%s", err, printed)
	}
}

// inShell returns the shell script that runs a step as its row says.
func (s step) inShell(i int, replaced *strings.Replacer) string {
	text := replaced.Replace(s.script())
	if s.name != "" {
		text = fmt.Sprintf("%s() {\n%s}\n%s\n", s.name, text, s.name)
	}
	if s.types != "" {
		text = fmt.Sprintf("{\n%s} <<TYPED\n%s\nTYPED\n", text, s.types)
	}
	if s.fails {
		text = fmt.Sprintf("if\n%sthen echo 'it should have failed'; exit 1; fi\n", text)
	}
	if s.beside {
		text = fmt.Sprintf("{\n%s} >$OUT/%d 2>&1 &\n", text, i)
	}
	return text
}

// mark begins a line in the output of the shell. The line ends with the number of a command, and the output
// of this command follows.
const mark = "==== command "

func ranAny(outputs map[string]string, from, to int) bool {
	for i := from; i <= to; i++ {
		if _, ok := outputs[fmt.Sprint(i)]; ok {
			return true
		}
	}
	return false
}

// shell runs a script for at most ten minutes and returns its output. Then it stops all processes that the
// script has started.
func shell(t *testing.T, p place, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	out, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = p.folder, append(append(os.Environ(), "OUT="+t.TempDir()), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = out, out // because out is a file, Wait does not wait for background processes
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := cmd.Wait()
	if ctx.Err() != nil {
		ended = errors.Join(ctx.Err(), ended)
	}
	endGroup(cmd.Process.Pid)
	printed, err := os.ReadFile(out.Name())
	return string(printed), errors.Join(ended, err)
}

// endGroup stops a group of processes with SIGTERM, and after ten seconds with SIGKILL.
func endGroup(id int) {
	_ = syscall.Kill(-id, syscall.SIGTERM)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		if errors.Is(syscall.Kill(-id, 0), syscall.ESRCH) {
			return
		}
	}
	_ = syscall.Kill(-id, syscall.SIGKILL)
}
