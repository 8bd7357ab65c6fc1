package delivery

import (
	"testing"
	"time"
)

func TestClassify(t *testing.T) {
	schedule := []time.Duration{5 * time.Second, 30 * time.Second}
	tests := []struct {
		name     string
		status   int
		attempts int
		asked    time.Duration
		chance   float64
		want     Outcome
		wait     time.Duration
	}{
		{"any 2xx is success", 204, 1, 0, .5, Delivered, 0},
		{"no answer is tried again", 0, 1, 0, .5, Retry, 5 * time.Second},
		{"the second wait", 500, 2, 0, .5, Retry, 30 * time.Second},
		{"the schedule has ended", 500, 3, 0, .5, Exhausted, 0},
		{"a redirect is a failure", 302, 1, 0, .5, Retry, 5 * time.Second},
		{"a wait is a fifth shorter at most", 500, 1, 0, 0, Retry, 4 * time.Second},
		{"and a fifth longer", 500, 1, 0, 1, Retry, 6 * time.Second},
		{"gone, even at the last attempt", 410, 3, 0, .5, Gone, 0},
		{"the receiver asks for less", 429, 2, 2 * time.Second, 0, Retry, 2 * time.Second},
		{"never before the time it asks for", 503, 1, time.Minute, 1, Retry, 72 * time.Second},
		{"it asks for more than the bound", 503, 1, 240 * time.Hour, 0, Retry, maxRetryAfter},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, wait := classify(tt.status, tt.attempts, schedule, tt.asked, tt.chance)
			if got != tt.want || wait != tt.wait {
				t.Errorf("%s after %s, want %s after %s", got, wait, tt.want, tt.wait)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"soon":                          0,
		"99999999999999999999":          0,
		"Sun, 01 Mar 2026 12:01:00 GMT": time.Minute,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}
