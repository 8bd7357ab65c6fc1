package embedded

import (
	"context"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Start starts a Redis on a free loopback port. It returns the address in the form that package
// jobs reads. stop ends the Redis and drops its data, which is not needed after that.
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

// moveClock moves the clock of the server forward until ctx ends, since that clock does not
// move by itself.
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
