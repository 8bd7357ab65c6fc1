package pagetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// axePackage is the package of npm that has the rules.
const axePackage = "axe-core@4.14.1"

// axe is its script, once for all tests.
var axe struct {
	sync.Mutex
	script string
}

// axeScript installs the package, unless a test has done so.
func axeScript(t testing.TB) string {
	t.Helper()
	axe.Lock()
	defer axe.Unlock()
	if axe.script == "" {
		dir := testproc.NPM(t, axePackage)
		script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")) //nolint:gosec // what was just installed
		if err != nil {
			t.Fatal(err)
		}
		axe.script = string(script)
	}
	return axe.script
}

// axeRun runs the rules. What moves is brought to its end before, since colors are
// compared.
const axeRun = `(async () => {
	document.getAnimations().forEach(a => { try { a.finish() } catch { /* one without an end */ } });
	const {violations} = await axe.run(document, {resultTypes: ['violations']});
	return violations.map(v => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map(n => ({HTML: n.html, Summary: n.failureSummary}))}));
})()`

// violation is a rule of axe-core that the page breaks.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML, Summary string }
}

// String names the rule and the elements.
func (v violation) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s (%s): %s", v.ID, v.Impact, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&s, "\n  %s\n    %s", n.HTML, strings.ReplaceAll(n.Summary, "\n", "\n    "))
	}
	return s.String()
}

// violations are the rules of axe-core that the page breaks as it is now. It needs a
// page that may run scripts.
func violations(b *tab) []violation {
	b.t.Helper()
	if script := axeScript(b.t); !eval[bool](b, "typeof axe === 'object'") {
		eval[bool](b, script+"\n;true")
	}
	return eval[[]violation](b, axeRun)
}

// accessible fails the test when the page breaks a rule, in dark or in light, or in what
// the seed chooses of them. It leaves the page in light.
func accessible(t testing.TB, b *tab) {
	t.Helper()
	for _, scheme := range schemes(t, b.path()) {
		b.colorScheme(scheme)
		for _, v := range violations(b) {
			t.Errorf("%s, %s: %s", b.path(), scheme, v)
		}
	}
	b.colorScheme(light)
}
