package delivery

import (
	"net/http"
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
	return Retry, waitAfter(attempts, schedule, retryAfter, chance)
}
