package clienttest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestExampleAgent runs the program in examples/agent. It gives each open defect a priority, and leaves the others.
func TestExampleAgent(t *testing.T) {
	t.Parallel()
	base := start(t, "sqlite")
	_, items := shop(t, base)
	program := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../examples/agent").CombinedOutput(); err != nil { //nolint:gosec // a program of this repository
		t.Fatalf("%v\n%s", err, out)
	}
	own := tokenWith(t, base, `{"writes": "plans", "deletes": false}`)
	runs := func() string {
		c := exec.CommandContext(t.Context(), program)
		c.Env = append(c.Environ(), "ALDS_URL="+base, "ALDS_TOKEN="+own)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	want := fmt.Sprintf("2 changed (2 Defect)\n  %s Priority <nil> -> WorkitemPriority:<id>\n  %s Priority <nil> -> WorkitemPriority:<id>\n", items[2], items[3])
	if got := regexp.MustCompile(`WorkitemPriority:\d+`).ReplaceAllString(runs(), "WorkitemPriority:<id>"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := runs(); got != "" {
		t.Errorf("the second run changed something:\n%s", got)
	}
}
