//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package testdb

import (
	"os"
	"syscall"
)

// alone waits until no other process has locked a file, and locks it until it is closed.
// Without wait, it returns an error if another process has the lock.
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
