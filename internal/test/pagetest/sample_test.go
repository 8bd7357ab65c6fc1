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

// seedOf is that of this run.
var seedOf = sync.OnceValue(func() uint64 { return cmp.Or(*seedGiven, rand.Uint64()) })

// seeded is a source of random choices, of its own for each purpose. It names the seed.
func seeded(t testing.TB, purpose string) *rand.Rand {
	t.Helper()
	t.Logf("-pagetest.seed %d", seedOf())
	of := fnv.New64a()
	_, _ = of.Write([]byte(purpose))                   // it takes everything
	return rand.New(rand.NewPCG(seedOf(), of.Sum64())) //nolint:gosec // a test repeats by its seed
}

// dialects are the databases on which a test runs: both, or SQLite with -short.
// TestEveryPage has both then, too.
func dialects() []string {
	if testing.Short() {
		return []string{"sqlite"}
	}
	return []string{"sqlite", "mysql"}
}

// schemes are both colors; with -short the one that the seed chooses.
func schemes(t testing.TB, purpose string) []string {
	t.Helper()
	both := []string{dark, light}
	if !testing.Short() {
		return both
	}
	n := seeded(t, purpose).IntN(len(both))
	return both[n : n+1]
}

// screen is how a page is looked at.
type screen struct {
	width  int64
	scheme string
}

// screens are those of these widths, in both colors; with -short one of them, which the
// seed chooses.
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
