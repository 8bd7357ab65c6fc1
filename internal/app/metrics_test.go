package app

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/base/release"
)

// TestBuildInfo checks that the metric with which operators watch an upgrade has the commit and
// its date.
func TestBuildInfo(t *testing.T) {
	b := release.Built()
	want := `alds_app_build_info{commit="` + b.Commit + `",date="` + b.Date + `",role="api",version="` + release.Version() + `"} 1`
	err := testutil.GatherAndCompare(newRegistry("api"), strings.NewReader("# HELP alds_app_build_info Always 1. The labels describe the running build.\n# TYPE alds_app_build_info gauge\n"+want+"\n"), "alds_app_build_info")
	if err != nil {
		t.Error(err)
	}
}
