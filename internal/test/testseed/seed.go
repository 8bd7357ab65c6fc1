package testseed

import (
	"flag"
	"testing"
	"time"
)

var given = flag.Uint64("seed", 0, "repeat the random tests with this seed; 0: another one each time")

// Given reports whether the flag -seed is set. A test that usually has a time limit must then ignore this
// limit, so that it does everything that the first run with this seed did.
func Given() bool { return *given != 0 }

// New returns the seed for a random test. If the test fails, it prints the flag with which the test can be
// repeated.
func New(t testing.TB) uint64 {
	t.Helper()
	seed := *given
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000 //nolint:gosec // a time after 1970
	}
	Print(t, seed)
	return seed
}

// Print makes a test or subtest print the flag with the seed if it fails. In a subtest the flag is printed
// next to the failure, so that the subtest can be repeated alone.
func Print(t testing.TB, seed uint64) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with -seed %d", seed)
		}
	})
}
