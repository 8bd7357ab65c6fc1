package testdb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Root returns the folder of the repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// FindRoot returns the current folder or the nearest folder above it that has a go.mod.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no folder above the current one has a go.mod")
		}
		dir = up
	}
}
