//go:build unix && !aix && !solaris

package app

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file or a folder until it is closed.
// Errors: errTaken; other errors if the file system has no locks.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errTaken
	}
	return err
}
