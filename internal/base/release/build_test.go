package release

import (
	"runtime/debug"
	"testing"
)

// TestVersions checks that a version has the commit and its day, both for a checkout and for a
// version of the module. If the toolchain recorded nothing, the version has neither.
func TestVersions(t *testing.T) {
	const commit = "c129ddd40dd1b8a6f0c3e4d5a697887766554433"
	checkout := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.time", Value: "2026-11-22T19:58:29Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for _, c := range []struct {
		module       string
		settings     []debug.BuildSetting
		version      string // after the number of the release
		commit, date string
		text         string // after the version
	}{
		{"v0.0.0-20261122195829-c129ddd40dd1", nil, "+20261122.c129ddd40dd1", "c129ddd40dd1", "2026-11-22T19:58:29Z", " (commit c129ddd40dd1 of 2026-11-22T19:58:29Z)"},
		{"v0.0.0-20261122195829-c129ddd40dd1+dirty", checkout("true"), "+20261122.c129ddd40dd1.dirty", commit, "2026-11-22T19:58:29Z", " (commit " + commit + " of 2026-11-22T19:58:29Z, with changes)"},
		{"v1.2.4-0.20261122195829-c129ddd40dd1", nil, "+20261122.c129ddd40dd1", "c129ddd40dd1", "2026-11-22T19:58:29Z", " (commit c129ddd40dd1 of 2026-11-22T19:58:29Z)"},
		{"v1.2.4-rc.1.0.20261122195829-c129ddd40dd1", nil, "+20261122.c129ddd40dd1", "c129ddd40dd1", "2026-11-22T19:58:29Z", " (commit c129ddd40dd1 of 2026-11-22T19:58:29Z)"},
		{"v" + Number, checkout("false"), "+20261122.c129ddd40dd1", commit, "2026-11-22T19:58:29Z", " (commit " + commit + " of 2026-11-22T19:58:29Z)"},
		{"(devel)", checkout("false"), "+20261122.c129ddd40dd1", commit, "2026-11-22T19:58:29Z", " (commit " + commit + " of 2026-11-22T19:58:29Z)"},
		{"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: commit}}, "", commit, "", " (commit " + commit + ")"},
		{"v" + Number, nil, "", "", "", " (the commit is not known)"},
		{"v" + Number + "+dirty", nil, "", "", "", " (the commit is not known)"},
		{"(devel)", nil, "", "", "", " (the commit is not known)"},
		{"", nil, "", "", "", " (the commit is not known)"},
	} {
		b := buildOf(&debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings})
		got := b.version()
		if got != Number+c.version || b.Commit != c.commit || b.Date != c.date || b.String() != got+c.text {
			t.Errorf("%s %v: %s and %+v", c.module, c.settings, b, b)
		}
		if Rank(got) != Rank(Number) {
			t.Errorf("%s is of another release", got)
		}
	}
}
