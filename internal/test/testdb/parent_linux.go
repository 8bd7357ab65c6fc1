package testdb

import "syscall"

// WithParent returns the attributes of a process that must end together with the tests, even if the tests
// are killed.
func WithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
