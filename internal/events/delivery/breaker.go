package delivery

import (
	"net/http"
	"time"
)

// The values of the column breaker_state.
const (
	breakerClosed = 0
	breakerOpen   = 1 // open, or half-open after its backoff
)

// The circuit breaker of a receiver opens after openAfter failures in a row. Nothing is sent until
// the backoff is over. Then the breaker is half-open, and one delivery is sent as a probe. If the
// probe succeeds, the breaker closes. If it fails, the breaker opens again with twice the backoff.
// Some answers open a closed breaker at once, see asksForLess.
const (
	openAfter    = 5
	maxBackoff   = 5 * time.Minute
	maxDoublings = 6
	firstBackoff = 5 * time.Second // used if the schedule is empty
)

// asksForLess reports whether an answer concerns all deliveries to the receiver, and not only one
// delivery. The receiver is then overloaded, is unreachable behind a proxy, or asks for a pause.
func asksForLess(status int, retryAfter time.Duration) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return retryAfter > 0 && (status < 200 || status >= 300)
}

// backoff returns how long the circuit breaker stays open after some failures in a row. It returns
// 0 if the breaker stays closed. The parameter less is the result of asksForLess for an answer.
// retryAfter is the pause that the receiver asked for, or 0 without such a request. chance is a
// random number from 0 to 1. It spreads the probes of many subscriptions over time.
func backoff(failures int, schedule []time.Duration, less bool, retryAfter time.Duration, chance float64) time.Duration {
	if retryAfter > 0 {
		wait := min(retryAfter, maxRetryAfter)
		return wait + time.Duration(jitter*chance*float64(wait)) // jitter only lengthens this wait
	}
	doublings := failures - openAfter
	if less {
		doublings = failures - 1
	}
	if failures == 0 || doublings < 0 {
		return 0
	}
	wait := firstBackoff
	if len(schedule) > 0 {
		wait = schedule[0]
	}
	wait = min(wait<<min(doublings, maxDoublings), maxBackoff)
	return wait + time.Duration(jitter*(2*chance-1)*float64(wait))
}
