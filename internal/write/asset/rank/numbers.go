package rank

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Max is the greatest rank; the least is 1. Clients store ranks in signed 32-bit integers.
const Max = int64(1)<<31 - 1

// Step is the number by which each new rank increases the value of a sequence of ranks.
const Step = int64(32)

// New assets get their ranks from the sequence of their rank space. These ranks are the multiples of
// Step up to the constant half, and above half the multiples of upperStep. Assets that are ranked
// relative to another asset get the numbers between these ranks. So concurrent writers never use the
// same rank. A move to the front uses a rank that is about one Step below the first rank.
const (
	begin     = int64(1) << 24 // first value of a sequence; leaves room for half a million moves to the front
	half      = int64(1) << 30
	upperStep = int64(4)
)

// Sequence returns the name of the sequence of ranks of a type's rank space. To rank an asset
// relative to another asset, a writer locks the row of tree_lock with this name.
func Sequence(t *meta.Type) string { return "rank:" + t.RankSpace }

// Nth returns the nth of several new ranks; n begins with 1. first is the first value that the
// sequence has allocated for these ranks. The result is above Max if the rank space is used up.
func Nth(first, n int64) int64 { return atValue(first - 1 + n*Step) }

// FirstValue returns the initial value of the sequence of ranks that some types share. types are
// the codes of the types. The first rank of the sequence is above all ranks in use.
func FirstValue(ctx context.Context, q db.Querier, types []int64) (int64, error) {
	in, args := db.InArgs(types)
	var used *int64
	if err := q.QueryRow(ctx, `SELECT MAX(order_key) FROM asset WHERE type IN `+in, args...).Scan(&used); err != nil {
		return 0, fmt.Errorf("greatest rank: %w", err)
	}
	if used == nil {
		return begin, nil
	}
	return valueAbove(*used), nil
}

// atValue returns the rank for the value v of a sequence, a multiple of Step. The result is above
// Max if the rank space is used up.
func atValue(v int64) int64 {
	if v <= half {
		return v
	}
	return half + (v-half)/Step*upperStep
}

// valueAbove returns the least value of a sequence for which all ranks that are allocated
// afterwards are above the greatest rank in use. The parameter used is that rank.
func valueAbove(used int64) int64 {
	if used <= half {
		return roundUp(used, Step)
	}
	return half + roundUp(used-half, upperStep)/upperStep*Step
}

func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }

// stepAt returns the distance between the ranks of the sequence near a rank.
func stepAt(rank int64) int64 {
	if rank < half {
		return Step
	}
	return upperStep
}

// isSequences reports whether a rank belongs to the sequence. Only new assets, and assets that
// are moved to the end, get ranks of the sequence.
func isSequences(rank int64) bool { return rank%stepAt(rank) == 0 }

// ceiling returns the next rank of the sequence above a rank.
func ceiling(rank int64) int64 { return rank - rank%stepAt(rank) + stepAt(rank) }

// middle returns the rank halfway between two ranks. If that rank belongs to the sequence, middle
// returns a number next to that rank. It returns false if there is no free number between the two
// ranks.
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
// before upper; the result is then about one Step below upper, unless upper is too small.
//
// If lower or upper is recent, the result is the number next to it. So a request that ranks many
// assets next to the same asset, or each next to the one before it, uses one number for each. The
// middle would halve the room each time. recent is the latest rank that the request has given; 0:
// none.
//
// between returns false if there is no room.
func between(lower, upper, recent int64) (int64, bool) {
	switch {
	case lower == 0 && upper > 2*Step:
		return offSequence(upper - Step), true
	case recent != 0 && recent == lower && offSequence(lower+1) < upper:
		return offSequence(lower + 1), true
	case recent != 0 && recent == upper && belowOffSequence(upper-1) > lower:
		return belowOffSequence(upper - 1), true
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

// belowOffSequence returns rank, or the number before it if rank belongs to the sequence.
func belowOffSequence(rank int64) int64 {
	if isSequences(rank) {
		return rank - 1
	}
	return rank
}
