package main

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// binaries is a folder in the user's cache that keeps the test binaries for the next run. It needs about a
// gigabyte. go test links a binary again only if something in it has changed. Linking all binaries takes a
// quarter of the time of the quick tier.
type binaries struct {
	dir string // empty: the binaries are not kept
}

// keepBinaries opens the folder for the binaries. The binaries are not kept while another run uses the
// folder, or if the caller's flags say where or how to build them. Call release at the end of the run.
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

// groups splits the packages into groups. Each group is tested by its own call of go test. go test names a
// binary by the last word of the package path, so these words must differ within a group.
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

// flags returns the flags with which go test keeps the binaries of a group. The binaries have no debug
// data.
func (b binaries) flags(group int) []string {
	if b.dir == "" {
		return nil
	}
	return []string{"-ldflags=-s -w", "-o", filepath.Join(b.dir, strconv.Itoa(group)) + "/"}
}
