package main

import (
	"slices"
	"testing"
)

func TestGroups(t *testing.T) {
	packages := []string{"m/internal/operate/system", "m/internal/store/lease", "m/internal/web/pages/system", "m/bench/system"}
	var got []string
	for _, group := range (binaries{"kept"}).groups(packages) {
		got = append(append(got, group...), "|")
	}
	want := []string{"m/internal/operate/system", "m/internal/store/lease", "|", "m/internal/web/pages/system", "|", "m/bench/system", "|"}
	if !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
	if n := len((binaries{}).groups(packages)); n != 1 {
		t.Errorf("%d groups of binaries that are not kept, want 1", n)
	}
}

func TestOwnFlagsForBinaries(t *testing.T) {
	for _, flag := range []string{"-o=x", "-c", "-exec=xprog", "-ldflags=-X a.b=c", "-coverprofile=out", "--cover"} {
		if b, release := keepBinaries([]string{flag}); b.dir != "" {
			release()
			t.Errorf("with %s binaries are kept in %s", flag, b.dir)
		}
	}
}
