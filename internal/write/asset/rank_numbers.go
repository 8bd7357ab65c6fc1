package asset

import "github.com/alds-dev/alds/internal/model/meta"

// MaxRank is the greatest rank; the least is 1. Clients store ranks in signed 32-bit integers.
const MaxRank = int64(1)<<31 - 1

// New assets get their ranks from the sequence of their rank space: the multiples of rankStep
// up to rankHalf, and above it the multiples of upperStep. Assets that are ranked relative to
// another asset get the numbers between these. So concurrent writers never use the same rank.
const (
	rankStep  = int64(32)
	rankBegin = int64(1) << 24 // leaves room for half a million moves to the front, rankStep each
	rankHalf  = int64(1) << 30
	upperStep = int64(4)
)

// rankAt returns the rank for the value v of a sequence, a multiple of rankStep. The result is
// above MaxRank if the rank space is used up.
func rankAt(v int64) int64 {
	if v <= rankHalf {
		return v
	}
	return rankHalf + (v-rankHalf)/rankStep*upperStep
}

// rankValue returns the least value of a sequence after which all allocated ranks are above used,
// the greatest rank in use.
func rankValue(used int64) int64 {
	if used <= rankHalf {
		return roundUp(used, rankStep)
	}
	return rankHalf + roundUp(used-rankHalf, upperStep)/upperStep*rankStep
}

func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }

// stepAt returns the distance between the ranks of the sequence near a rank.
func stepAt(rank int64) int64 {
	if rank < rankHalf {
		return rankStep
	}
	return upperStep
}

// isSequences reports whether a rank belongs to the sequence. Only new assets get ranks of the
// sequence.
func isSequences(rank int64) bool { return rank%stepAt(rank) == 0 }

// ceiling returns the next rank of the sequence above a rank.
func ceiling(rank int64) int64 { return rank - rank%stepAt(rank) + stepAt(rank) }

// middle returns the rank halfway between two ranks, or a number next to it if the sequence
// has that rank. It returns false if there is no free number between the two ranks.
func middle(lower, upper int64) (int64, bool) {
	at := lower + (upper-lower)/2
	for _, rank := range [...]int64{at, at + 1, at - 1} {
		if lower < rank && rank < upper && !isSequences(rank) {
			return rank, true
		}
	}
	return 0, false
}

// between returns a rank between two ranks. Usually it is the middle. If lower is 0, no asset is
// before upper; the result is then one rankStep below upper, unless upper is too small. between
// returns false if there is no room.
func between(lower, upper int64) (int64, bool) {
	if lower == 0 && upper > 2*rankStep {
		return offSequence(upper - rankStep), true
	}
	return middle(lower, upper)
}

// offSequence returns rank, or the next number if rank belongs to the sequence.
func offSequence(rank int64) int64 {
	if isSequences(rank) {
		return rank + 1
	}
	return rank
}

// rankSequence returns the name of the sequence of ranks of a type's rank space. The row of
// tree_lock with the same name is locked to rank an asset relative to another.
func rankSequence(t *meta.Type) string { return "rank:" + t.RankSpace }
