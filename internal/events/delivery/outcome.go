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
	Delivered Outcome = iota // the receiver accepted it
	Retry                    // another attempt follows
	Exhausted                // it was the last attempt
	Gone                     // the receiver wants no more deliveries
)

var outcomeNames = [...]string{"delivered", "retry", "exhausted", "gone"}

// String returns the outcome as logs show it.
func (o Outcome) String() string { return outcomeNames[o] }

// maxRetryAfter bounds the Retry-After of a receiver.
const maxRetryAfter = time.Hour

// jitter is the share by which a wait is made longer or shorter.
const jitter = 0.2

// classify returns the outcome of an attempt and the wait until the next one.
// status 0 is no answer; attempts includes this one; retryAfter 0 is no such
// header; chance, from 0 to 1, spreads the wait.
//
// Any 2xx is success; 410 ends the subscription; everything else, redirects
// included, is retried after schedule[attempts-1] until the schedule ends.
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
		return Retry, wait + time.Duration(jitter*chance*float64(wait)) // never earlier
	}
	return Retry, wait + time.Duration(jitter*(2*chance-1)*float64(wait))
}

// retryAfter reads the Retry-After header: seconds or a date; 0 when it is
// missing, wrong or in the past.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
