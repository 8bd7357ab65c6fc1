//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package testdb

import "os"

// alone does nothing on systems other than Unix. Tests that share folders need Unix.
func alone(*os.File, bool) error { return nil }
