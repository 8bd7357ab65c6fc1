package app

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/base/release"
)

// TestVersions checks that a version has the commit and its day, both for a checkout and for a
// version of the module. If the toolchain recorded nothing, it has neither.
func TestVersions(t *testing.T) {
	const commit = "c129ddd40dd1b8a6f0c3e4d5a697887766554433"
	checkout := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: "2026-11-22T19:58:29Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for _, c := range []struct {
		module        string
		settings      []debug.BuildSetting
		version, four string // after the number of the release
		commit, date  string
		text          string // after the version
	}{
		{"v0.0.0-20261122195829-c129ddd40dd1", nil, "+20261122.c129ddd40dd1", ".20261122", "c129ddd40dd1", "2026-11-22T19:58:29Z", " (commit c129ddd40dd1 of 2026-11-22T19:58:29Z)"},
		{"v0.0.0-20261122195829-c129ddd40dd1+dirty", checkout("true"), "+20261122.c129ddd40dd1.dirty", ".20261122", commit, "2026-11-22T19:58:29Z", " (commit " + commit + " of 2026-11-22T19:58:29Z, with changes)"},
		{"v1.2.4-0.20261122195829-c129ddd40dd1", nil, "+20261122.c129ddd40dd1", ".20261122", "c129ddd40dd1", "2026-11-22T19:58:29Z", " (commit c129ddd40dd1 of 2026-11-22T19:58:29Z)"},
		{"v1.2.4-rc.1.0.20261122195829-c129ddd40dd1", nil, "+20261122.c129ddd40dd1", ".20261122", "c129ddd40dd1", "2026-11-22T19:58:29Z", " (commit c129ddd40dd1 of 2026-11-22T19:58:29Z)"},
		{"v" + release.Number, checkout("false"), "+20261122.c129ddd40dd1", ".20261122", commit, "2026-11-22T19:58:29Z", " (commit " + commit + " of 2026-11-22T19:58:29Z)"},
		{"(devel)", checkout("false"), "+20261122.c129ddd40dd1", ".20261122", commit, "2026-11-22T19:58:29Z", " (commit " + commit + " of 2026-11-22T19:58:29Z)"},
		{"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: commit}}, "", ".0", commit, "", " (commit " + commit + ")"},
		{"v" + release.Number, nil, "", ".0", "", "", " (the commit is not known)"},
		{"v" + release.Number + "+dirty", nil, "", ".0", "", "", " (the commit is not known)"},
		{"(devel)", nil, "", ".0", "", "", " (the commit is not known)"},
		{"", nil, "", ".0", "", "", " (the commit is not known)"},
	} {
		b := buildOf(&debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings})
		got := b.version()
		if got != release.Number+c.version || fourNumbers(got) != release.Number+c.four || b.commit != c.commit || b.date != c.date || b.String() != got+c.text {
			t.Errorf("%s %v: %s, %s and %+v", c.module, c.settings, b, fourNumbers(got), b)
		}
		if release.Rank(got) != release.Rank(release.Number) {
			t.Errorf("%s is of another release", got)
		}
	}
}

// TestBuildInfo checks that the metric with which operators watch an upgrade has the commit and
// its date.
func TestBuildInfo(t *testing.T) {
	b := built()
	want := `alds_app_build_info{commit="` + b.commit + `",date="` + b.date + `",role="api",version="` + version() + `"} 1`
	err := testutil.GatherAndCompare(newRegistry("api"), strings.NewReader("# HELP alds_app_build_info Always 1. The labels describe the running build.\n# TYPE alds_app_build_info gauge\n"+want+"\n"), "alds_app_build_info")
	if err != nil {
		t.Error(err)
	}
}
