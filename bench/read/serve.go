package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/meta"
)

// readerName is the login of the member who sees a part of the scopes only.
const readerName = "reader"

// sides are the two servers that do the same work.
type sides struct {
	service, floor string // addresses
	token, reader  string // access tokens of the administrator and the reader
	stop           func()
}

// serve starts the service, as its own program would, and the floor.
func serve(ctx context.Context, s *store, rows []work) (*sides, error) {
	logins, err := auth.New(s.db, meta.Default(), auth.Options{})
	if err != nil {
		return nil, err
	}
	token, err := logins.CreateToken(ctx, "admin", "bench")
	if err != nil {
		return nil, err
	}
	reader, err := logins.CreateToken(ctx, readerName, "bench")
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- app.Run(running, s.getenv(addr), io.Discard, app.API) }()
	floor, err := serveFloor(s.db, rows)
	if err != nil {
		cancel()
		return nil, err
	}
	stop := func() {
		floor.stop()
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "the service ended:", err)
		}
	}
	both := &sides{service: addr, floor: floor.addr, token: token, reader: reader, stop: stop}
	return both, both.await(ended)
}

// await waits until the service listens.
func (s *sides) await(ended <-chan error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the service ended: %w", err)
		case <-tick.C:
			c, err := net.Dial("tcp", s.service)
			if err == nil {
				return c.Close()
			}
		}
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}
