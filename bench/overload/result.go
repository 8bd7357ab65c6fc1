package main

import (
	"net/http"
	"slices"
	"time"
)

// result is what became of the requests of a time.
type result struct {
	offered, sent                      int
	ok, right, refused, broken, unlike int // unlike: answered in another way than right or refused
	took                               time.Duration

	good, turned []time.Duration // latencies of what was answered 200, and of what was refused, ascending
}

// summed sums up what was offered within d.
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

// goodput is how many requests a second were answered 200 as they should be.
func (r result) goodput() float64 { return float64(r.ok) / r.took.Seconds() }

// share is how many of the requests were answered rightly, of 1.
func (r result) share() float64 { return float64(r.right) / float64(max(1, r.offered)) }

// rate is how many requests a second were due.
func (r result) rate() float64 { return float64(r.offered) / r.took.Seconds() }

// at is a quantile of ascending latencies, 0 of none.
func at(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// window is a second of requests.
const window = time.Second

// windowStep is how far the next window begins.
const windowStep = 100 * time.Millisecond

// recovery is when, from began on, the first second begins in which 99 of 100
// requests are answered rightly, with a 99th percentile of at most limit. It
// also tells the share of the windows after that which are so.
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

// between returns those of ascending outcomes that were due within a time.
func between(all []outcome, from, to time.Time) []outcome {
	find := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(all, t, func(o outcome, t time.Time) int { return o.due.Compare(t) })
		return i
	}
	return all[find(from):find(to)]
}
