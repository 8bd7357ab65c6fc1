package main

import (
	"net/http"
	"slices"
	"time"
)

// result summarizes the requests of a period.
type result struct {
	offered, sent                      int
	ok, right, refused, broken, unlike int // unlike: neither right nor refused
	took                               time.Duration

	good, turned []time.Duration // ascending latencies of right answers with status 200, and of refusals
}

// summed summarizes the requests that were offered within d.
func summed(all []outcome, d time.Duration) result {
	r := result{offered: len(all), took: d}
	for _, o := range all {
		if o.status != unsent {
			r.sent++
		}
		if o.right {
			r.right++
		}
		switch {
		case o.status == http.StatusOK && o.right:
			r.ok++
			r.good = append(r.good, o.took)
		case o.right:
		case o.status == http.StatusServiceUnavailable || o.status == http.StatusTooManyRequests:
			r.refused++
			r.turned = append(r.turned, o.took)
		case o.status == broken || o.status == overdue:
			r.broken++
		case o.status != unsent:
			r.unlike++
		}
	}
	slices.Sort(r.good)
	slices.Sort(r.turned)
	return r
}

// goodput returns the right answers with status 200, per second.
func (r result) goodput() float64 { return float64(r.ok) / r.took.Seconds() }

// share returns the part of requests with the right answer, from 0 to 1.
func (r result) share() float64 { return float64(r.right) / float64(max(1, r.offered)) }

// rate returns the requests that were due, per second.
func (r result) rate() float64 { return float64(r.offered) / r.took.Seconds() }

// at returns a quantile of ascending latencies, or 0 if there are none.
func at(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// window is the length of a period for which recovery is judged.
const window = time.Second

// windowStep is the distance between the starts of two windows.
const windowStep = 100 * time.Millisecond

// recovery returns the time from began to the start of the first good window. A window is good
// if 99 of 100 requests get the right answer and the 99th percentile is at most limit. steady
// is the part of good windows from then on. ok is false if no window is good.
func recovery(all []outcome, began time.Time, d, limit time.Duration) (after time.Duration, steady float64, ok bool) {
	slices.SortFunc(all, func(a, b outcome) int { return a.due.Compare(b.due) })
	good, seen := 0, 0
	for from := time.Duration(0); from+window <= d; from += windowStep {
		r := summed(between(all, began.Add(from), began.Add(from+window)), window)
		is := r.offered > 0 && r.share() >= .99 && at(r.good, .99) <= limit
		if is && !ok {
			after, ok = from, true
		}
		if ok {
			if seen++; is {
				good++
			}
		}
	}
	return after, float64(good) / float64(max(1, seen)), ok
}

// between returns the outcomes that were due in a period. all must be ascending.
func between(all []outcome, from, to time.Time) []outcome {
	find := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(all, t, func(o outcome, t time.Time) int { return o.due.Compare(t) })
		return i
	}
	return all[find(from):find(to)]
}
