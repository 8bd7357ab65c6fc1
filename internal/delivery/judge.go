package delivery

import (
	"net/http"
	"strconv"
	"time"
)

// Outcome is what became of an attempt to deliver.
type Outcome uint8

// The outcomes.
const (
	Delivered Outcome = iota // the receiver took it
	Again                    // it will be tried again
	Exhausted                // that was the last attempt
	Gone                     // the receiver wants no more of anything
)

var outcomeNames = [...]string{"delivered", "again", "exhausted", "gone"}

// String returns the outcome in the words of metrics and logs.
func (o Outcome) String() string { return outcomeNames[o] }

// retryAfterMost bounds what a receiver may ask for.
const retryAfterMost = time.Hour

// jitter is the share by which a wait is made longer or shorter.
const jitter = 0.2

// judge decides what an answer means. status 0 stands for no answer. attempts
// counts this one. retryAfter is what the receiver asked for, 0 for nothing.
// chance, from 0 to 1, spreads the wait.
//
// Any 2xx is success; 410 ends the subscription; everything else, redirects
// included, is tried again after schedule[attempts-1] until the schedule ends.
// Spec: compat 9.20.
func judge(status, attempts int, schedule []time.Duration, retryAfter time.Duration, chance float64) (Outcome, time.Duration) {
	switch {
	case status >= 200 && status < 300:
		return Delivered, 0
	case status == http.StatusGone:
		return Gone, 0
	case attempts > len(schedule):
		return Exhausted, 0
	}
	wait := schedule[attempts-1]
	if retryAfter > 0 {
		wait = min(retryAfter, retryAfterMost)
		return Again, wait + time.Duration(jitter*chance*float64(wait)) // never before it
	}
	return Again, wait + time.Duration(jitter*(2*chance-1)*float64(wait))
}

// retryAfter reads the header of that name: seconds, or a date. 0 for nothing
// that can be read or that has passed.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// A receiver that failed breakAfter times in a row rests: nothing is sent to it
// until one attempt, the probe, may find out whether it is well again. Each
// failed probe makes the rest twice as long, up to restMost and no more than
// mostDoublings times.
const (
	breakAfter = 5
	restMost   = 5 * time.Minute

	mostDoublings = 6
)

// firstRest is the first rest where the schedule says nothing.
const firstRest = 5 * time.Second

// slows reports whether an answer asks for less of everything, and not only
// for another attempt at this delivery.
func slows(status int, asked time.Duration) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return asked > 0 && (status < 200 || status >= 300)
}

// rest is how long a receiver rests after its failures in a row; 0 lets
// deliveries through. slowed tells that an answer asked for less, and asked for
// how long, 0 when it did not say. chance, from 0 to 1, spreads the rest, so
// that probes of many subscriptions do not come together.
func rest(failures int, schedule []time.Duration, slowed bool, asked time.Duration, chance float64) time.Duration {
	if asked > 0 {
		asked = min(asked, retryAfterMost)
		return asked + time.Duration(jitter*chance*float64(asked)) // never before it
	}
	doublings := failures - breakAfter
	if slowed {
		doublings = failures - 1
	}
	if failures == 0 || doublings < 0 {
		return 0
	}
	wait := firstRest
	if len(schedule) > 0 {
		wait = schedule[0]
	}
	wait = min(wait<<min(doublings, mostDoublings), restMost)
	return wait + time.Duration(jitter*(2*chance-1)*float64(wait))
}
