package testdb

import (
	"errors"
	"os"
	"path/filepath"
)

// Keep returns a folder in the user's cache that test binaries share. It is for files that take seconds to
// create. If the cache cannot be written, the folder is below the folder for temporary files. No other
// process uses the folder until release is called.
func Keep(name string) (dir string, release func(), err error) { return keep(name, true) }

// KeepIfFree is like Keep, but returns an error if another process uses the folder.
func KeepIfFree(name string) (dir string, release func(), err error) { return keep(name, false) }

func keep(name string, wait bool) (dir string, release func(), err error) {
	dir, lock, err := openKept(os.UserCacheDir, name)
	if err != nil { // there is no home folder, or it is full or not writable
		dir, lock, err = openKept(func() (string, error) { return os.TempDir(), nil }, name)
	}
	if err != nil {
		return "", nil, err
	}
	if err := alone(lock, wait); err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return dir, func() { _ = lock.Close() }, nil // closing the file ends the lock
}

// openKept creates a folder below the folder that parent returns. It also opens the file that is locked
// while the folder is in use.
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
