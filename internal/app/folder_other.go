//go:build !unix || aix || solaris

package app

import "os"

// lock does nothing where folders cannot be locked.
func lock(*os.File) error { return nil }
