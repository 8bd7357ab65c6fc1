package testdb

import "syscall"

// WithParent are the attributes of a process that must not outlive the tests,
// not even when they are killed.
func WithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
