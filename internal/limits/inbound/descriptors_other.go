//go:build !unix

package inbound

// Descriptors returns false: this system does not report how many files and connections the
// process may have open.
func Descriptors() (int, bool) { return 0, false }
