package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/app"
)

// Service is the api, running in this process.
type Service struct {
	Addr string
	Stop func()
}

// Serve starts the service on a database and waits until it listens.
func Serve(ctx context.Context, d *Database) (*Service, error) {
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- app.Run(running, d.environment(addr), app.API) }()
	s := &Service{Addr: addr, Stop: func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "the service ended:", err)
		}
	}}
	return s, s.await(ended)
}

// await waits until the service listens.
func (s *Service) await(ended <-chan error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the service ended: %w", err)
		case <-tick.C:
			c, err := net.Dial("tcp", s.Addr)
			if err == nil {
				return c.Close()
			}
		}
	}
}

// FreeAddr returns an unused address of this machine.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

// Load returns the machine's load average over the last minute, or "unknown".
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
