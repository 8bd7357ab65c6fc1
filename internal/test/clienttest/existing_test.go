package clienttest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testnpm"
	"github.com/alds-dev/alds/internal/test/testproc"
)

var update = flag.Bool("update", false, "rewrite what docs/compatibility.md says that the test saw")

// The markers before and after the part of docs/compatibility.md that TestExistingClient checks.
const (
	compatibility = "../../../docs/compatibility.md"
	seenBegins    = "<!-- seen -->\n"
	seenEnds      = "<!-- /seen -->"
)

// TestExistingClient calls every function of an existing client's library. docs/compatibility.md names the
// library and its version. The document must list the calls that work.
func TestExistingClient(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(compatibility)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	_, line, _ := strings.Cut(page, "\nnpm install ")
	line, _, found := strings.Cut(line, "\n")
	packages := strings.Fields(line)
	if !found || len(packages) != 2 {
		t.Fatalf("docs/compatibility.md does not say what to install: %q", line)
	}
	testdb.Runs(t, "node", "--version")
	dir := testnpm.NPM(t, packages...)
	program, err := os.ReadFile("testdata/javascript/client.cjs")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "client.cjs"), program, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	base, token := testproc.ServeWithToken(t, "sqlite", map[string]string{"ALDS_ADMIN_PASSWORD": password})
	args := []string{filepath.Join(dir, "client.cjs")}
	for _, p := range packages {
		name, _, _ := strings.Cut(p, "@")
		args = append(args, name)
	}
	out := run(t, append([]string{"node"}, append(args, base, "admin", password, token)...)...)
	calls, ended := strings.CutSuffix(out, "\ndone\n")
	if !ended {
		t.Fatalf("the program ended early:\n%s", out)
	}
	seen := "| Call | |\n|---|---|\n"
	for call := range strings.Lines(calls) {
		seen += "| " + strings.TrimSpace(call) + " | works |\n"
	}
	before, rest, ok := strings.Cut(page, seenBegins)
	said, after, ok2 := strings.Cut(rest, seenEnds)
	switch {
	case !ok || !ok2:
		t.Error("docs/compatibility.md has no place for what was seen")
	case said != seen && *update:
		if err := os.WriteFile(compatibility, []byte(before+seenBegins+seen+seenEnds+after), 0o600); err != nil {
			t.Error(err)
		}
	case said != seen:
		t.Errorf("docs/compatibility.md says something else than was seen (-update rewrites it):\n%s", seen)
	}
}
