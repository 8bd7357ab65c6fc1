package embedded

import (
	"context"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Start starts a Redis on a free loopback port and returns its address as jobs reads
// it. stop ends it. It keeps nothing then, and nothing needs it to.
func Start() (url string, stop func(), err error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var clock sync.WaitGroup
	clock.Go(func() { moveClock(ctx, server) })
	return "redis://" + server.Addr(), func() { cancel(); clock.Wait(); server.Close() }, nil
}

// moveClock moves the clock of the server, which stands still otherwise, until ctx ends.
func moveClock(ctx context.Context, server *miniredis.Miniredis) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			server.FastForward(time.Second)
		}
	}
}
