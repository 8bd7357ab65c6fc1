package clienttest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// program is a program of examples/.
type program struct {
	name    string
	sources string                                        // pattern below examples/
	command func(t *testing.T, sources []string) []string // skips the test if the program cannot run
}

var programs = []program{
	{"python", "client.py", func(t *testing.T, sources []string) []string { return []string{python(t), sources[0]} }},
	{"javascript", "client.mjs", func(t *testing.T, sources []string) []string {
		testdb.Runs(t, "node", "--version")
		return []string{"node", sources[0]}
	}},
	{"go", "client/*.go", func(t *testing.T, sources []string) []string {
		testdb.Runs(t, "go", "version")
		built := filepath.Join(filepath.Dir(sources[0]), "client")
		build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", built}, sources...)...) //nolint:gosec // a program of this repository
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return []string{built}
	}},
	{"powershell", "client.ps1", func(t *testing.T, sources []string) []string {
		if _, err := exec.LookPath("pwsh"); err != nil {
			t.Skip("pwsh is not installed, and no package of Debian has it: this program is NOT run")
		}
		return []string{"pwsh", "-NoProfile", "-File", sources[0]}
	}},
}

// python returns a python3 that has the module requests: Debian's python3 or, if that has no such module,
// the first in PATH.
func python(t *testing.T) string {
	t.Helper()
	const debian = "/usr/bin/python3"
	if exec.CommandContext(t.Context(), debian, "-c", "import requests").Run() == nil {
		return debian
	}
	testdb.Runs(t, "python3", "-c", "import requests")
	return "python3"
}

// copied copies the source files of a program to a new folder, because the program must not need other
// files.
func (p program) copied(t *testing.T) (sources []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("../../../examples", filepath.FromSlash(p.sources)))
	if err != nil || len(found) == 0 {
		t.Fatalf("no sources of %s: %v", p.name, err)
	}
	dir := t.TempDir()
	for _, name := range found {
		text, err := os.ReadFile(name) //nolint:gosec // a file of this repository
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(at, text, 0o600); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, at)
	}
	return sources
}

// ended is the result of a program: its standard output, its error output and its exit status.
type ended struct {
	out, problems string
	status        int
}

// run runs a program. Its environment has only the given settings, PATH and HOME.
func (p program) run(t *testing.T, settings ...string) ended {
	t.Helper()
	command := p.command(t, p.copied(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // a program of this repository
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &out, &problems, testdb.WithParent()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, settings...)
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return ended{out.String(), problems.String(), cmd.ProcessState.ExitCode()}
}
