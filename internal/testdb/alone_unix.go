//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package testdb

import (
	"os"
	"syscall"
)

// alone waits until no other process has a file, and has it until it is closed.
func alone(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}
