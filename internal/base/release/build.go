package release

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Build is the source of a program, as recorded by the Go toolchain. All fields are empty if
// nothing was recorded, as with `go run`.
type Build struct {
	Commit string // hash of the commit; for a module from a proxy, its first 12 digits
	Date   string // date of the commit, as RFC 3339 in UTC

	dirty bool // true: files differed from the commit
}

var built = sync.OnceValue(func() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{}
	}
	return buildOf(info)
})

// Built returns the source of this program.
func Built() Build { return built() }

// Version returns the release of this program, followed by the day and the commit of the source
// if the toolchain recorded them: "0.2.0", "0.2.0+20261122.c129ddd40dd1".
func Version() string { return built().version() }

// between matches the end of a module version for a commit between two releases. Its groups are the
// time, the hash of the commit, and "+dirty" if files differed from the commit.
var between = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(\+dirty)?$`)

// buildOf returns the source of a program. It reads the commit from the settings of the build, or
// else from the version of the module.
func buildOf(info *debug.BuildInfo) (b Build) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.dirty = s.Value == "true"
		}
	}
	if m := between.FindStringSubmatch(info.Main.Version); m != nil && b.Commit == "" {
		at, err := time.Parse("20060102150405", m[1])
		if err == nil {
			b = Build{Commit: m[2], Date: at.Format(time.RFC3339), dirty: m[3] != ""}
		}
	}
	if at, err := time.Parse(time.RFC3339, b.Date); err != nil || b.Commit == "" {
		b.Date = ""
	} else {
		b.Date = at.UTC().Format(time.RFC3339)
	}
	return b
}

// shortCommit is the number of digits of a commit in a version.
const shortCommit = 12

// version returns the release, with the day and the commit if they are known.
func (b Build) version() string {
	if b.Commit == "" || b.Date == "" {
		return Number
	}
	text := Number + "+" + strings.ReplaceAll(b.Date[:len(time.DateOnly)], "-", "") + "." + b.Commit[:min(shortCommit, len(b.Commit))]
	if b.dirty {
		text += ".dirty"
	}
	return text
}

// String returns the text that --version prints after the name of the program.
func (b Build) String() string {
	text := b.version()
	if b.Commit == "" {
		return text + " (the commit is not known)"
	}
	text += " (commit " + b.Commit
	if b.Date != "" {
		text += " of " + b.Date
	}
	if b.dirty {
		text += ", with changes"
	}
	return text + ")"
}
