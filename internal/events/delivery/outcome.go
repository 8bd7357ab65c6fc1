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
	Retry                    // the attempt failed, and another attempt follows
	Exhausted                // the last attempt failed
	Gone                     // the receiver answered 410: it wants no more deliveries
)

var outcomeNames = [...]string{"delivered", "retry", "exhausted", "gone"}

// String returns the outcome as logs show it.
func (o Outcome) String() string { return outcomeNames[o] }

// classify returns the outcome of an attempt, and how long to wait before the next attempt. status
// is the status of the answer, or 0 without an answer. attempts includes this attempt. retryAfter
// is the wait that the receiver asked for, or 0 without such a request. chance is a random number
// from 0 to 1, which varies the wait.
//
// Any 2xx is a success, and 410 ends the subscription. After any other result, redirects included,
// the delivery is sent again until the schedule ends. The wait is schedule[attempts-1] or
// retryAfter.
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
