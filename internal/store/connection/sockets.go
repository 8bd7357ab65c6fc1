package connection

import (
	"context"
	"net"
	"sync"
)

// sockets are the open connections to a server. If the server has stopped answering, closing the
// connections ends all waits at once, without a TCP timeout.
type sockets struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

func newSockets() *sockets { return &sockets{open: map[net.Conn]bool{}} }

// dial opens a connection and records it until it is closed.
func (s *sockets) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = true
	if tcp, ok := c.(*net.TCPConn); ok {
		return &socket{tcp, s}, nil
	}
	return c, nil
}

// cut closes all connections. All waits for them fail at once.
func (s *sockets) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
	clear(s.open)
}

// socket is a TCP connection that is removed from sockets when it is closed. It embeds
// *net.TCPConn, so that the driver can check whether the connection is closed.
type socket struct {
	*net.TCPConn
	of *sockets
}

// Close closes the connection.
func (s *socket) Close() error {
	s.of.mu.Lock()
	delete(s.of.open, net.Conn(s.TCPConn))
	s.of.mu.Unlock()
	return s.TCPConn.Close()
}
