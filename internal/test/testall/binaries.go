package main

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// binaries stores the test binaries of one run for the next. go test links a binary only if
// something in it has changed. Linking all of them takes a quarter of the time of the quick
// tier. They are in the user's cache and need about a gigabyte.
type binaries struct {
	dir string // "" if they are not stored
}

// keepBinaries opens the folder of binaries. They are not stored while another run uses the
// folder, or if the caller's flags name another place for them.
func keepBinaries(flags []string) (b binaries, release func()) {
	name := "binaries"
	for _, f := range flags {
		flag, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		switch {
		case slices.Contains([]string{"o", "c", "exec", "ldflags"}, flag), strings.HasPrefix(flag, "cover"):
			return binaries{}, func() {}
		case flag == "race":
			name += "-race"
		}
	}
	dir, release, err := testdb.KeepIfFree(name)
	if err != nil {
		return binaries{}, func() {}
	}
	return binaries{dir}, release
}

// groups splits packages into groups for one call of go test each. go test names a binary by
// the last word of the package path, so the names in a group must differ.
func (b binaries) groups(packages []string) [][]string {
	if b.dir == "" {
		return [][]string{packages}
	}
	var groups [][]string
	seen := map[string]int{}
	for _, pkg := range packages {
		n := seen[path.Base(pkg)]
		seen[path.Base(pkg)]++
		if n == len(groups) {
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], pkg)
	}
	return groups
}

// flags returns the flags of go test that store the binaries of a group, without debug data.
func (b binaries) flags(group int) []string {
	if b.dir == "" {
		return nil
	}
	return []string{"-ldflags=-s -w", "-o", filepath.Join(b.dir, strconv.Itoa(group)) + "/"}
}
