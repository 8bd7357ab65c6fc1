package asset

import "github.com/alds-dev/alds/internal/model/meta"

// MaxRank is the greatest rank there is; the least is 1. Clients keep ranks in
// signed 32-bit integers.
const MaxRank = int64(1)<<31 - 1

// New assets take their ranks from the sequence of their space: every 32nd
// number, and every fourth of the upper half. The numbers between are for those
// that are ranked relative to another, so that no two writers ever take the same.
// The sequence begins high enough to rank half a million times before the first
// without moving anything else.
const (
	rankStep  = int64(32)
	rankBegin = int64(1) << 24
	rankHalf  = int64(1) << 30
	upperStep = int64(4)
)

// rankAt returns the rank that the sequence of a space gives out as its value
// v, a multiple of rankStep. It is above MaxRank when the space is used up.
func rankAt(v int64) int64 {
	if v <= rankHalf {
		return v
	}
	return rankHalf + (v-rankHalf)/rankStep*upperStep
}

// rankValue returns the least value of a sequence that gives out ranks above
// one that is in use.
func rankValue(used int64) int64 {
	if used <= rankHalf {
		return roundUp(used, rankStep)
	}
	return rankHalf + roundUp(used-rankHalf, upperStep)/upperStep*rankStep
}

func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }

// stepAt is the distance of the sequence's ranks around a rank.
func stepAt(rank int64) int64 {
	if rank < rankHalf {
		return rankStep
	}
	return upperStep
}

// isSequences reports whether a rank is for new assets only.
func isSequences(rank int64) bool { return rank%stepAt(rank) == 0 }

// ceiling returns the first rank above one that belongs to the sequence.
func ceiling(rank int64) int64 { return rank - rank%stepAt(rank) + stepAt(rank) }

// middle returns the rank halfway between two that is not the sequence's, or one
// next to it; false when there is none.
func middle(lower, upper int64) (int64, bool) {
	at := lower + (upper-lower)/2
	for _, rank := range [...]int64{at, at + 1, at - 1} {
		if lower < rank && rank < upper && !isSequences(rank) {
			return rank, true
		}
	}
	return 0, false
}

// between returns the rank for an asset between two: a step below upper where
// nothing is before it, else the middle. False when there is no room.
func between(lower, upper int64) (int64, bool) {
	if lower == 0 && upper > 2*rankStep {
		return offSequence(upper - rankStep), true
	}
	return middle(lower, upper)
}

// offSequence returns rank, or the next one when that is the sequence's.
func offSequence(rank int64) int64 {
	if isSequences(rank) {
		return rank + 1
	}
	return rank
}

// rankSequence is the sequence of ranks of a type's rank space, and the row of
// tree_lock that is locked for ranking relative to another asset.
func rankSequence(t *meta.Type) string { return "rank:" + t.RankSpace }
