//go:build !unix || aix || solaris

package app

import "os"

// lock does nothing: on this system folders cannot be locked.
func lock(*os.File) error { return nil }
