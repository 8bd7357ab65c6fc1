//go:build !linux

package testdb

import "syscall"

// WithParent returns the attributes of a process that should end together with the tests. Only Linux can
// ensure that, so here it returns nil.
func WithParent() *syscall.SysProcAttr { return nil }
