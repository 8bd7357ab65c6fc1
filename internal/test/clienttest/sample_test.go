package clienttest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// always are types that every sample has: most clients use them.
var always = []string{"Scope", "Story", "Task", "Timebox"}

// seedOf is what random choices of this run are drawn from.
var seedOf = sync.OnceValue(func() uint64 { return cmp.Or(*seedGiven, rand.Uint64()) })

// seeded is a source of random choices of a test, which names its seed.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	t.Logf("-clienttest.seed %d", seedOf())
	return rand.New(rand.NewPCG(seedOf(), 0))
}

// some are the types of a model that a test looks at: all of them, or with -short one
// part of several, which the seed chooses.
func (c *client) some(part, parts int) []*assetType {
	c.t.Helper()
	all := sorted(c.model.AssetTypes)
	if !testing.Short() {
		return all
	}
	seeded(c.t).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	var chosen []*assetType
	for i, typ := range all {
		if i%parts == part || slices.Contains(always, typ.Token) {
			chosen = append(chosen, typ)
		}
	}
	return chosen
}
