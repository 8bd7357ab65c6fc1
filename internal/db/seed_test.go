package db_test

import (
	"flag"
	"testing"
	"time"
)

var seeded = flag.Uint64("db.seed", 0, "seed of the random tests; 0: another one each time")

// newSeed returns the seed of a random test. A failure shows the flag that repeats it.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed := *seeded
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("to repeat it: -db.seed %d", seed)
	return seed
}
