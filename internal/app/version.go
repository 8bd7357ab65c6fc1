package app

import (
	"cmp"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/alds-dev/alds/internal/release"
)

// version is the release, and for a build between two what was built, where the
// toolchain noted it: "0.1.0", "0.1.0+20261122.c129ddd40dd1".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release.Number
	}
	return versionOf(info.Main.Version)
}

// between finds the day and the revision of what was built between two releases, and
// whether files differed from it.
var between = regexp.MustCompile(`[-.](\d{8})\d{6}-([0-9a-f]{12})(\+dirty)?$`)

func versionOf(module string) string {
	m := between.FindStringSubmatch(module)
	if m == nil {
		return release.Number
	}
	return release.Number + "+" + m[1] + "." + m[2] + strings.Replace(m[3], "+", ".", 1)
}

// fourNumbers is a version as clients of metadata read it: the numbers of the
// release, then the day of what was built behind it or 0. Spec: interface 9.
func fourNumbers(version string) string {
	number, build, _ := strings.Cut(version, "+")
	day, _, _ := strings.Cut(build, ".")
	return number + "." + cmp.Or(day, "0")
}
