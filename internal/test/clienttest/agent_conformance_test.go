package clienttest

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/alds-dev/alds/internal/test/testnpm"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// scenarios are the scenarios of the suite that apply to alds, by revision of the protocol. Those that need tools,
// resources and prompts of a test server are in package mcp, which also names those that do not apply.
var scenarios = map[string][]string{
	"2025-11-25": {"server-initialize", "ping", "logging-set-level", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"},
	"2026-07-28": {
		"tools-list", "resources-list", "prompts-list", "dns-rebinding-protection", "server-sse-multiple-streams", "sep-2164-resource-not-found",
		"caching", "http-header-validation",
	},
}

// TestConformance runs the scenarios of the protocol's test suite that apply. A proxy adds the access token, since
// the suite sends none.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: the packages of the suite have 100 MB")
	}
	t.Parallel()
	dir := testnpm.NPM(t, testnpm.Conformance, testnpm.Node)
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
	for revision, names := range scenarios {
		for _, name := range names {
			t.Run(revision+"/"+name, func(t *testing.T) { testnpm.Conforms(t, dir, proxy.URL+service.Path+"/mcp", revision, name) })
		}
	}
}
