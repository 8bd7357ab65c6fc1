package rank

import "testing"

// The sequence never reaches a rank twice, and continues above every rank in use, in both halves of
// the ranks.
func TestSequenceContinuesAboveRanksInUse(t *testing.T) {
	for _, used := range []int64{1, Step, Step + 1, begin, half - 1, half, half + 1, half + 2*upperStep - 1, Max - 2*upperStep} {
		first := valueAbove(used) + 1 // the first value after the initial value of the sequence
		before := used
		for n := int64(1); n <= 2; n++ {
			rank := Nth(first, n)
			if rank <= before || !isSequences(rank) {
				t.Errorf("rank %d after %d is %d, which follows %d", n, used, rank, before)
			}
			before = rank
		}
	}
}

// A rank between two others is never a rank of the sequence. If the two ranks are too near, there
// is no rank between them.
func TestBetween(t *testing.T) {
	for _, c := range []struct {
		lower, upper, recent, want int64
		ok                         bool
	}{
		{0, begin, 0, begin - Step + 1, true},
		{0, 2 * Step, 0, Step + 1, true},
		{begin, begin + Step, 0, begin + Step/2, true},
		{begin, begin + 2, 0, begin + 1, true},
		{begin, begin + 1, 0, 0, false},
		{begin - 1, begin + 1, 0, 0, false},
		{half, half + upperStep, 0, half + 2, true},
		{0, 1, 0, 0, false},
		{begin, begin + Step, begin, begin + 1, true},                           // after the asset that was ranked last
		{begin + 1, begin + Step + 9, begin + Step + 9, begin + Step + 8, true}, // before it
		{begin - 1, begin + 5, begin - 1, begin + 1, true},                      // the rank of the sequence is left out
		{begin - 5, begin + 1, begin + 1, begin - 1, true},
		{begin - 1, begin + 1, begin + 1, 0, false},
	} {
		if got, ok := between(c.lower, c.upper, c.recent); got != c.want || ok != c.ok {
			t.Errorf("between %d and %d, recent %d: %d, %v instead of %d, %v", c.lower, c.upper, c.recent, got, ok, c.want, c.ok)
		}
	}
}
