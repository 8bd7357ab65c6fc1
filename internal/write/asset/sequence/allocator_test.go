package sequence

import (
	"testing"
	"time"
)

func TestUnpackMoment(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 123_456_789, time.UTC)
	const day = 24 * time.Hour
	for _, moment := range []int64{1, 1000, 1<<31 - 1} {
		for _, apart := range []time.Duration{0, time.Millisecond, -time.Millisecond, time.Hour, -time.Hour, 24 * day, -24 * day} {
			at := now.Add(apart)
			last, micros := unpackMoment(moment<<32|at.UnixMilli()&(1<<32-1), now)
			if want := at.UnixMilli() * 1000; last != moment || micros != want {
				t.Errorf("moment %d, %v from now: %d, %d instead of %d", moment, apart, last, micros, want)
			}
		}
	}
}
