package rig

import (
	"fmt"
	"slices"
	"time"
)

// Result has the results of one side in a row of a table: the requests per second of each window,
// and the times of requests.
type Result struct {
	Rates []float64
	Times []time.Duration
}

// Sort sorts both lists. Call it before Rate and At.
func (r *Result) Sort() {
	slices.Sort(r.Rates)
	slices.Sort(r.Times)
}

// Rate returns the median rate.
func (r *Result) Rate() float64 { return r.Rates[len(r.Rates)/2] }

// At returns a percentile of the times; percent is from 0 to 100.
func (r *Result) At(percent int) time.Duration { return Percentile(r.Times, percent) }

// Percentile returns the nearest-rank percentile of ascending durations.
func Percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// Median returns the median of a list, or 0 for an empty list. It does not change the list.
func Median[T ~int64 | ~float64](list []T) T {
	if len(list) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// Ms returns a duration in milliseconds with two decimals.
func Ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
