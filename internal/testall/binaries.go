package main

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/testdb"
)

// binaries keeps the test binaries of one run for the next. go test links one only if
// something in it has changed: linking all takes as long as a quarter of the quick tier.
// They lie in the user's cache and take about a gigabyte.
type binaries struct {
	dir string // "" if they are not kept
}

// keepBinaries opens the folder of binaries. They are not kept while another run has the
// folder, and where the caller's own flags say what becomes of them.
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

// groups splits packages into those that one call of go test can take: it names a binary
// by the last word of the package's path, and takes each name once.
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

// flags are those of go test that keep the binaries of a group, without what only a
// debugger reads.
func (b binaries) flags(group int) []string {
	if b.dir == "" {
		return nil
	}
	return []string{"-ldflags=-s -w", "-o", filepath.Join(b.dir, strconv.Itoa(group)) + "/"}
}
