package delivery

import (
	"net/http"
	"strconv"
	"time"
)

// defaultSchedule is the default of Options.Schedule: ten attempts in about two days.
var defaultSchedule = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// maxRetryAfter is the longest wait that a receiver can request with Retry-After.
const maxRetryAfter = time.Hour

// jitter limits how much a wait is made longer or shorter: by at most this share of the wait.
const jitter = 0.2

// waitAfter returns how long to wait after a number of failed attempts. retryAfter is the wait that
// the receiver asked for, or 0. chance is a random number from 0 to 1, which varies the wait.
// Spec: interface 6.2.5.
func waitAfter(attempts int, schedule []time.Duration, retryAfter time.Duration, chance float64) time.Duration {
	if retryAfter > 0 {
		wait := min(retryAfter, maxRetryAfter)
		return wait + time.Duration(jitter*chance*float64(wait)) // jitter only lengthens this wait
	}
	wait := schedule[attempts-1]
	return wait + time.Duration(jitter*(2*chance-1)*float64(wait))
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
