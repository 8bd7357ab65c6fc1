package delivery

import (
	"net/http"
	"time"
)

// The stored states of a circuit breaker.
const (
	breakerClosed = 0
	breakerOpen   = 1
)

// The circuit breaker of a receiver opens after openAfter failures in a row:
// nothing is sent until the backoff is over. An open one whose backoff is over is
// half-open: one attempt, the probe, closes it, or opens it again with twice the
// backoff.
const (
	openAfter    = 5
	maxBackoff   = 5 * time.Minute
	maxDoublings = 6
	firstBackoff = 5 * time.Second // without a schedule
)

// asksForLess reports whether an answer is about all deliveries of the receiver
// and not only about this one.
func asksForLess(status int, retryAfter time.Duration) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return retryAfter > 0 && (status < 200 || status >= 300)
}

// backoff is how long the circuit breaker stays open after failures in a row; 0
// keeps it closed. less tells that an answer asked for less, and retryAfter for
// how long, 0 when it did not say. chance, from 0 to 1, spreads the probes of
// many subscriptions.
func backoff(failures int, schedule []time.Duration, less bool, retryAfter time.Duration, chance float64) time.Duration {
	if retryAfter > 0 {
		wait := min(retryAfter, maxRetryAfter)
		return wait + time.Duration(jitter*chance*float64(wait)) // never earlier
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
