package clienttest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// always are the types that every sample includes, because most clients use them.
var always = []string{"Scope", "Story", "Task", "Timebox"}

// seedOf returns the seed of all random choices of this run.
var seedOf = sync.OnceValue(func() uint64 { return cmp.Or(*seedGiven, rand.Uint64()) })

// seeded returns a source of random numbers with the seed from seedOf, and logs the seed.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	t.Logf("-clienttest.seed %d", seedOf())
	return rand.New(rand.NewPCG(seedOf(), 0))
}

// some returns the types that a test uses. Without -short these are all types. With -short it divides the
// types at random into parts, and returns the given part and the types of always.
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
