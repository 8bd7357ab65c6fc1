package app

import (
	"cmp"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/release"
)

// build is what was built, as far as the toolchain noted it. All is empty where it did
// not, as for `go run`.
type build struct {
	commit string // the revision; of a module from a proxy its first 12 digits
	date   string // of the commit, as RFC 3339 in UTC
	dirty  bool   // files differed from the commit
}

// built reads what this process was built from.
var built = sync.OnceValue(func() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{}
	}
	return buildOf(info)
})

// version is the release, followed by the day and commit of the build if the toolchain
// recorded them: "0.2.0", "0.2.0+20261122.c129ddd40dd1".
func version() string { return built().version() }

// between finds the time and the revision of what was built between two releases, and
// whether files differed from it.
var between = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(\+dirty)?$`)

// buildOf returns what a program was built from: its checkout, or a version of the module.
func buildOf(info *debug.BuildInfo) (b build) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			b.dirty = s.Value == "true"
		}
	}
	if m := between.FindStringSubmatch(info.Main.Version); m != nil && b.commit == "" {
		at, err := time.Parse("20060102150405", m[1])
		if err == nil {
			b = build{commit: m[2], date: at.Format(time.RFC3339), dirty: m[3] != ""}
		}
	}
	if at, err := time.Parse(time.RFC3339, b.date); err != nil || b.commit == "" {
		b.date = ""
	} else {
		b.date = at.UTC().Format(time.RFC3339)
	}
	return b
}

// shortCommit is how many digits of a commit a version has.
const shortCommit = 12

// version is the release, the day and the commit.
func (b build) version() string {
	if b.commit == "" || b.date == "" {
		return release.Number
	}
	text := release.Number + "+" + strings.ReplaceAll(b.date[:len(time.DateOnly)], "-", "") + "." + b.commit[:min(shortCommit, len(b.commit))]
	if b.dirty {
		text += ".dirty"
	}
	return text
}

// String is what --version prints behind the name of the program.
func (b build) String() string {
	text := b.version()
	if b.commit == "" {
		return text + " (the commit is not known)"
	}
	text += " (commit " + b.commit
	if b.date != "" {
		text += " of " + b.date
	}
	if b.dirty {
		text += ", with changes"
	}
	return text + ")"
}

// fourNumbers is a version as clients of metadata read it: the numbers of the
// release, then the day of what was built behind it or 0. Spec: interface 9.
func fourNumbers(version string) string {
	number, build, _ := strings.Cut(version, "+")
	day, _, _ := strings.Cut(build, ".")
	return number + "." + cmp.Or(day, "0")
}
