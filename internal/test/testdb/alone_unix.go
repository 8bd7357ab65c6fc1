//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package testdb

import (
	"os"
	"syscall"
)

// alone locks a file until the file is closed. If another process has locked the file, it waits for the end
// of that lock, or returns an error if wait is false.
func alone(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}
