package testdb

import "syscall"

// WithParent returns the attributes of a process that must end with the tests, even if they
// are killed.
func WithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
