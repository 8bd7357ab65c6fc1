//go:build !linux

package testdb

import "syscall"

// WithParent are the attributes of a process that should not outlive the
// tests; only Linux knows how to hold it to that.
func WithParent() *syscall.SysProcAttr { return nil }
