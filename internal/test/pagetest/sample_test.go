package pagetest

import (
	"cmp"
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
)

var seedGiven = flag.Uint64("pagetest.seed", 0, "what random choices are drawn from; 0: another number each time")

// seedOf returns the seed of all random choices in this run.
var seedOf = sync.OnceValue(func() uint64 { return cmp.Or(*seedGiven, rand.Uint64()) })

// seeded returns a source of random numbers and logs the seed. Different purposes get different numbers.
func seeded(t testing.TB, purpose string) *rand.Rand {
	t.Helper()
	t.Logf("-pagetest.seed %d", seedOf())
	of := fnv.New64a()
	_, _ = of.Write([]byte(purpose))                   // writing to a hash never fails
	return rand.New(rand.NewPCG(seedOf(), of.Sum64())) //nolint:gosec // repeatable with the same seed
}

// dialects returns the databases on which a test runs: SQLite and MariaDB or MySQL, with -short only
// SQLite. TestEveryPage always uses both.
func dialects() []string {
	if testing.Short() {
		return []string{"sqlite"}
	}
	return []string{"sqlite", "mysql"}
}

// schemes returns both color schemes, or with -short one of them at random. purpose and the seed decide
// which.
func schemes(t testing.TB, purpose string) []string {
	t.Helper()
	both := []string{dark, light}
	if !testing.Short() {
		return both
	}
	n := seeded(t, purpose).IntN(len(both))
	return both[n : n+1]
}

// screen is a screen on which a page is inspected. width is in pixels, and scheme is the color scheme.
type screen struct {
	width  int64
	scheme string
}

// screens returns a screen for each of the widths in both color schemes, or with -short only one of them at
// random.
func screens(t testing.TB, page string, widths []int64) (all []screen) {
	t.Helper()
	for _, width := range widths {
		all = append(all, screen{width, light}, screen{width, dark})
	}
	if !testing.Short() {
		return all
	}
	n := seeded(t, page).IntN(len(all))
	return all[n : n+1]
}
