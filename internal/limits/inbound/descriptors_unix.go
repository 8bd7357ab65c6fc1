//go:build unix

package inbound

import "syscall"

// Descriptors returns how many files and connections the process may have open. It returns
// false if the system does not report it.
func Descriptors() (int, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return int(min(uint64(limit.Cur), 1<<30)), true //nolint:unconvert // signed on some systems
}
