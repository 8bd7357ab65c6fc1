package db

import (
	"errors"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// TestARowThatTheTimeLimitSpoilt checks errors that occur while a row is read. After the time limit
// of a quick read, an error restarts the read. Before the time limit, an error does not restart the
// read. An error that refuses the request stays unchanged.
func TestARowThatTheTimeLimitSpoilt(t *testing.T) {
	spoilt := errors.New("converting NULL to int is unsupported")
	refused := fault.Invalidf(fault.NoPlace, "refused")
	for _, c := range []struct {
		left  time.Duration
		err   error
		again bool
	}{
		{-time.Second, spoilt, true},
		{time.Hour, spoilt, false},
		{-time.Second, refused, false},
	} {
		p := &deadline{until: time.Now().Add(c.left)}
		if err := p.outcome(t.Context(), c.err); errors.Is(err, ErrSlow) != c.again || !errors.Is(err, c.err) {
			t.Errorf("%v, %s after the limit: %v", c.err, -c.left, err)
		}
	}
}
