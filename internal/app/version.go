package app

import (
	"cmp"
	"regexp"
	"runtime/debug"
	"strings"
)

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// released finds the numbers of a version, and the day of what was built between
// two releases.
var released = regexp.MustCompile(`^v(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-.*?(\d{8})\d{6}-[0-9a-f]{12})?`)

// fourNumbers is a version as clients of metadata read it: the numbers of the
// release, then that day or 0. What has no version is 0.0.0.0. Spec: interface 9.
func fourNumbers(version string) string {
	m := released.FindStringSubmatch(version)
	if m == nil {
		return "0.0.0.0"
	}
	return strings.Join([]string{m[1], m[2], m[3], cmp.Or(m[4], "0")}, ".")
}
