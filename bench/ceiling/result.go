package main

import (
	"slices"
	"time"
)

// result is the result of all writes of a row.
type result struct {
	rate   float64 // writes per second with status 200
	failed int     // writes with status 409, 429 or 503
	took   []time.Duration
}

// summed summarizes the writes that were answered between two times.
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

// at returns a quantile of ascending values, or 0 if there are none.
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

// corrected returns the delay of each direction that makes a round trip as long as rtt. took
// is the round trip with the current delay.
func corrected(delay, rtt, took time.Duration) time.Duration { return max(0, delay+(rtt-took)/2) }
