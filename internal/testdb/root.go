package testdb

import (
	"os"
	"path/filepath"
	"testing"
)

// Root returns the folder of the repository: the first one with a go.mod, from the folder
// of the test upwards.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no folder above the test has a go.mod")
		}
		dir = up
	}
}
