package jobs

import (
	"context"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Embed is a Redis within the process, for standalone. It keeps nothing when
// the process ends, and nothing needs it to.
type Embed struct{ server *miniredis.Miniredis }

// Embedded starts one on a free loopback port.
func Embedded() (*Embed, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, err
	}
	return &Embed{server: server}, nil
}

// URL is its address for Open.
func (e *Embed) URL() string { return "redis://" + e.server.Addr() }

// Close stops it.
func (e *Embed) Close() { e.server.Close() }

// Run moves its clock, which stands still otherwise, until ctx ends.
func (e *Embed) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			e.server.FastForward(time.Second)
		}
	}
}
