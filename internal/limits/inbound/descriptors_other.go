//go:build !unix

package inbound

// Descriptors returns how many files and connections the process may have open;
// false where the system does not say.
func Descriptors() (int, bool) { return 0, false }
