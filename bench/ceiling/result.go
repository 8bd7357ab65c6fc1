package main

import (
	"slices"
	"time"
)

// result is what became of the writes of a row.
type result struct {
	rate   float64 // writes a second that were answered 200
	failed int     // answered 409, 429 or 503
	took   []time.Duration
}

// summed sums up the writes that were answered between two moments.
func summed(all []written, from, to time.Time) result {
	var r result
	for _, one := range all {
		switch {
		case one.at.Before(from) || !one.at.Before(to):
		case !one.ok:
			r.failed++
		default:
			r.took = append(r.took, one.took)
		}
	}
	slices.Sort(r.took)
	r.rate = float64(len(r.took)) / to.Sub(from).Seconds()
	return r
}

// at is a quantile of ascending values, 0 of none.
func at[T any](all []T, q float64) T {
	if len(all) == 0 {
		var none T
		return none
	}
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

func median[T int64 | time.Duration](all []T) T {
	slices.Sort(all)
	return at(all, .5)
}

func mean(all []int64) float64 {
	sum := int64(0)
	for _, n := range all {
		sum += n
	}
	return float64(sum) / float64(max(1, len(all)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// corrected is how much each direction is to be delayed for a round trip, which takes so
// long with the present delay.
func corrected(delay, rtt, took time.Duration) time.Duration { return max(0, delay+(rtt-took)/2) }
