package testseed

import (
	"flag"
	"testing"
	"time"
)

var given = flag.Uint64("seed", 0, "repeat the random tests with this seed; 0: another one each time")

// Given reports whether the flag sets a seed. A test whose time is limited must then repeat
// everything that the first run with this seed did, however long it takes.
func Given() bool { return *given != 0 }

// New returns the seed of a random test. If the test fails, it prints the flag that repeats it.
func New(t testing.TB) uint64 {
	t.Helper()
	seed := *given
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000 //nolint:gosec // a time after 1970
	}
	Print(t, seed)
	return seed
}

// Print makes a test or subtest print the flag with the seed if it fails. The flag is then next to
// the failure of the subtest, which can be run alone.
func Print(t testing.TB, seed uint64) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with -seed %d", seed)
		}
	})
}
