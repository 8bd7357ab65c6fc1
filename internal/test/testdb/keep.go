package testdb

import (
	"errors"
	"os"
	"path/filepath"
)

// Keep returns a folder in the user's cache that test binaries share, for files that take seconds to make.
// The folder is in that for temporary files if the cache cannot be written.
// No other process uses the folder until release is called.
func Keep(name string) (dir string, release func(), err error) { return keep(name, true) }

// KeepIfFree is like Keep, but returns an error if another process uses the folder.
func KeepIfFree(name string) (dir string, release func(), err error) { return keep(name, false) }

func keep(name string, wait bool) (dir string, release func(), err error) {
	dir, lock, err := openKept(os.UserCacheDir, name)
	if err != nil { // no home folder, or one without room or rights
		dir, lock, err = openKept(func() (string, error) { return os.TempDir(), nil }, name)
	}
	if err != nil {
		return "", nil, err
	}
	if err := alone(lock, wait); err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return dir, func() { _ = lock.Close() }, nil // closing ends the lock
}

// openKept makes a folder below the one that parent returns, and opens the file that locks it.
func openKept(parent func() (string, error), name string) (dir string, lock *os.File, err error) {
	dir, err = parent()
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(dir, "alds-tests", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	lock, err = os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in the user's cache
	return dir, lock, err
}
