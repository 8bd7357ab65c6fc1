package difftest

import (
	"flag"
	"testing"
	"time"
)

var (
	seedFlag    = flag.Uint64("difftest.seed", 0, "repeat the run of this seed; 0 takes a new one")
	queriesFlag = flag.Int("difftest.queries", 0, "how many queries to ask; 0: 1000, and with -short as many of one world as fit into a few seconds")
)

// seedOf is the seed of the flag, or a new one. A test that fails prints it.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	printSeed(t, seed)
	return seed
}

func printSeed(t *testing.T, seed uint64) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with -difftest.seed %d", seed)
		}
	})
}
