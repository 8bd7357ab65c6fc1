package clienttest

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// programEndsIn is the longest time that a program may take. It usually takes a few seconds.
const programEndsIn = 3 * time.Minute

// TestPython runs a client in Python that parses XML with ElementTree.
func TestPython(t *testing.T) {
	t.Parallel()
	testdb.Runs(t, "python3", "--version")
	speaks(t, "python3", "testdata/python/client.py")
}

// TestJava runs a client in Java that parses XML with the DOM parser.
func TestJava(t *testing.T) {
	t.Parallel()
	testdb.Runs(t, "javac", "--version")
	testdb.Runs(t, "java", "--version")
	dir := t.TempDir()
	run(t, "javac", "-encoding", "UTF-8", "-d", dir, "testdata/java/Client.java")
	speaks(t, "java", "-cp", dir, "Client")
}

// TestCSharp runs a client in C# that parses XML with XmlDocument.
func TestCSharp(t *testing.T) {
	t.Parallel()
	testdb.Runs(t, "mcs", "--version")
	testdb.Runs(t, "mono", "--version")
	client := filepath.Join(t.TempDir(), "Client.exe")
	run(t, "mcs", "-codepage:utf8", "-r:System.Xml", "-out:"+client, "testdata/csharp/Client.cs")
	speaks(t, "mono", client)
}

// speaks runs a program against the service on each database. The program checks all answers itself, and
// must print "done" in its last line.
func speaks(t *testing.T, command ...string) {
	t.Helper()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			if testing.Short() && dialect == "mysql" {
				t.Skip("long tier only: the same program on the other database")
			}
			t.Parallel()
			out := run(t, slices.Concat(command, []string{start(t, dialect), "admin", password})...)
			if !strings.HasSuffix(out, "\ndone\n") {
				t.Errorf("the program ended early:\n%s", out)
			}
			t.Log(out)
		})
	}
}

// run runs a command to its end and returns its output.
func run(t *testing.T, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programEndsIn)
	defer cancel()
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // a program of this folder
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
