package delivery

import (
	"net/http"
	"strconv"
	"time"
)

// Outcome is the result of an attempt to deliver.
type Outcome uint8

// The outcomes.
const (
	Delivered Outcome = iota // the receiver accepted the delivery
	Retry                    // the attempt failed, another follows
	Exhausted                // the last attempt failed
	Gone                     // the receiver wants no more deliveries: it answered 410
)

var outcomeNames = [...]string{"delivered", "retry", "exhausted", "gone"}

// String returns the outcome as logs show it.
func (o Outcome) String() string { return outcomeNames[o] }

// maxRetryAfter bounds the Retry-After of a receiver.
const maxRetryAfter = time.Hour

// jitter is the largest share by which a wait is made longer or shorter.
const jitter = 0.2

// classify returns the outcome of an attempt, and the wait until the next attempt. status is 0
// if there was no answer. attempts includes this attempt. retryAfter is the wait that the
// receiver asked for, or 0 if it asked for none. chance is a random number from 0 to 1, which
// spreads the wait.
//
// Any 2xx is a success, and 410 ends the subscription. Everything else, redirects included, is
// retried until the schedule ends, after schedule[attempts-1] or retryAfter.
// Spec: interface 6.2.5.
func classify(status, attempts int, schedule []time.Duration, retryAfter time.Duration, chance float64) (Outcome, time.Duration) {
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
		wait = min(retryAfter, maxRetryAfter)
		return Retry, wait + time.Duration(jitter*chance*float64(wait)) // jitter only lengthens this wait
	}
	return Retry, wait + time.Duration(jitter*(2*chance-1)*float64(wait))
}

// retryAfter parses a Retry-After header, which is a number of seconds or a date. It returns 0
// if the header is missing, invalid or in the past.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
