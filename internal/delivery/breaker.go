package delivery

import (
	"net/http"
	"time"
)

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
