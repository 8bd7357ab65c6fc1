//go:build !linux

package testdb

import "syscall"

// WithParent returns the attributes of a process that should end with the tests. Only Linux
// can enforce that.
func WithParent() *syscall.SysProcAttr { return nil }
