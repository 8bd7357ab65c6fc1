package db

import (
	"testing"
	"time"
)

// TestHowFarAReplicaLags checks that the lag is how long ago the writer had the progress that the
// replica has now.
func TestHowFarAReplicaLags(t *testing.T) {
	began := time.Now()
	at := func(seconds, progress, schema int64) sample {
		return sample{began.Add(time.Duration(seconds) * time.Second), progress, schema}
	}
	writer := []sample{at(0, 10, 1), at(1, 10, 1), at(2, 15, 1), at(3, 20, 1)}
	for _, c := range []struct {
		what   string
		writer []sample
		there  sample
		lag    time.Duration
		fit    bool
	}{
		{"it has all", writer, at(4, 20, 1), 0, true},
		{"it is further than the writer was when it was asked", writer, at(4, 21, 1), 0, true},
		{"it lacks the last second", writer, at(4, 15, 1), 2 * time.Second, true},
		{"it lacks something of the last second", writer, at(4, 19, 1), 2 * time.Second, true},
		{"it has what there was for a while", writer, at(4, 12, 1), 3 * time.Second, true},
		{"it lacks what all samples have", writer, at(4, 9, 1), 4 * time.Second, false},
		{"it is of another database", writer, at(4, 20, 2), -1, false},
		{"nobody knows", nil, at(4, 20, 1), -1, false},
	} {
		r := &replica{}
		r.lag.Store(-1)
		err := r.compare(c.writer, c.there)
		if lag := time.Duration(r.lag.Load()); lag != c.lag || (err == nil) != c.fit {
			t.Errorf("%s: %d, %v; want %d", c.what, lag, err, c.lag)
		}
	}
}
