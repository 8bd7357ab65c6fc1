package jobs

import (
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

func TestDepth(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		c := NewClient(open(t, url))
		if d, err := c.Depth(t.Context()); err != nil || d != (Depth{}) {
			t.Errorf("nothing was ever sent: %+v %v", d, err)
		}
		c.Committed(1, "w")
		c.Accepted("r1")
		c.WakeAt("s1", time.Now().Add(time.Hour))
		c.drain(t.Context())
		if d, err := c.Depth(t.Context()); err != nil || d != (Depth{Pending: 2, Scheduled: 1}) {
			t.Errorf("%+v %v", d, err)
		}
	})
	c := NewClient(open(t, "redis://127.0.0.1:1"))
	if _, err := c.Depth(t.Context()); fault.KindOf(err) != fault.Transient {
		t.Errorf("without Redis: %v", err)
	}
}
