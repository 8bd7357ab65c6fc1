package clienttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testnpm"
)

// TestPowerShellParses checks the syntax of the PowerShell program. It does not check what the program
// does, because without pwsh nothing can run it.
func TestPowerShellParses(t *testing.T) {
	t.Parallel()
	testdb.Runs(t, "node", "--version")
	dir := testnpm.NPM(t, "--omit=peer", "web-tree-sitter@0.27.1", "tree-sitter-powershell@0.26.4")
	parser, err := os.ReadFile("testdata/syntax.cjs")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "syntax.cjs"), parser, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../examples/client.ps1")
	if err != nil {
		t.Fatal(err)
	}
	parses := func(text string) (string, error) {
		at := filepath.Join(dir, "client.ps1")
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "syntax.cjs"), at).CombinedOutput() //nolint:gosec // files of the test
		return string(out), err
	}
	if out, err := parses(string(text)); err != nil {
		t.Errorf("client.ps1: %v\n%s", err, out)
	}
	for what, wrong := range map[string]string{
		"an open brace":       string(text) + "if ($project) {\n",
		"an open parenthesis": string(text) + "$x = (1 + 2\n",
		"no value":            string(text) + "$x = )\n",
		"an unfinished quote": string(text) + "Write-Host 'subscription\n",
	} {
		if out, err := parses(wrong); err == nil {
			t.Errorf("client.ps1 with %s parses: %s", what, out)
		}
	}
}
