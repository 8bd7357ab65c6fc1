package pagetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/test/testnpm"
)

// axePackage is the npm package with the accessibility rules.
const axePackage = "axe-core@4.14.1"

// axe has the script of the package. All tests share it.
var axe struct {
	sync.Mutex
	script string
}

// axeScript returns the script of the package. The first call installs the package.
func axeScript(t testing.TB) string {
	t.Helper()
	axe.Lock()
	defer axe.Unlock()
	if axe.script == "" {
		dir := testnpm.NPM(t, axePackage)
		script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")) //nolint:gosec // just installed
		if err != nil {
			t.Fatal(err)
		}
		axe.script = string(script)
	}
	return axe.script
}

// axeRun is a script that checks the rules on the page. It first finishes all animations, because they
// change colors.
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

// String describes the rule and the elements that break it.
func (v violation) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s (%s): %s", v.ID, v.Impact, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&s, "\n  %s\n    %s", n.HTML, strings.ReplaceAll(n.Summary, "\n", "\n    "))
	}
	return s.String()
}

// violations returns the rules of axe-core that the page breaks in its current state. The
// Content-Security-Policy of the page must allow scripts.
func violations(b *tab) []violation {
	b.t.Helper()
	if script := axeScript(b.t); !eval[bool](b, "typeof axe === 'object'") {
		eval[bool](b, script+"\n;true")
	}
	return eval[[]violation](b, axeRun)
}

// accessible fails the test if the page breaks a rule in the dark or the light color scheme. With -short it
// checks only one of them. Afterwards the color scheme is light.
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
