package app

import (
	"testing"
	"time"
)

func TestMoreRequestsRunFarFromTheDatabase(t *testing.T) {
	for _, c := range []struct {
		cores int
		trip  time.Duration
		want  int
	}{{2, 0, 16}, {1, 100 * time.Microsecond, 8}, {2, 2 * time.Millisecond, 48}, {4, 500 * time.Microsecond, 48}} {
		if n := recentRequests(c.cores, c.trip); n != c.want {
			t.Errorf("%d cores at %s: %d requests, want %d", c.cores, c.trip, n, c.want)
		}
	}
}
