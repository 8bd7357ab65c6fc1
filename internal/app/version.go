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

// build is the source of a program, as recorded by the Go toolchain. All fields are empty if
// nothing was recorded, as with `go run`.
type build struct {
	commit string // revision; of a module from a proxy its first 12 digits
	date   string // of the commit, as RFC 3339 in UTC
	dirty  bool   // files differed from the commit
}

// built returns the source of this program.
var built = sync.OnceValue(func() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{}
	}
	return buildOf(info)
})

// version returns the release, followed by the day and the commit of the source if the
// toolchain recorded them: "0.2.0", "0.2.0+20261122.c129ddd40dd1".
func version() string { return built().version() }

// between matches the end of a module version between two releases. Its groups are the time,
// the revision, and "+dirty" if files differed from the revision.
var between = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(\+dirty)?$`)

// buildOf returns the source of a program: its checkout, or else the version of its module.
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

// shortCommit is the number of digits of a commit in a version.
const shortCommit = 12

// version returns the release, with the day and the commit if they are known.
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

// String returns the text that --version prints after the name of the program.
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

// fourNumbers returns a version in the form that clients of metadata read: the numbers of the
// release, and then the day of the source, or 0 if the version has no day.
// Spec: interface 9.
func fourNumbers(version string) string {
	number, build, _ := strings.Cut(version, "+")
	day, _, _ := strings.Cut(build, ".")
	return number + "." + cmp.Or(day, "0")
}
