package main

import (
	"context"
	"net"
)

// bare is a server with the least work to refuse a request: it reads the data and answers 503.
type bare struct{ net.Listener }

var refusal = []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")

func newBare() (bare, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return bare{}, err
	}
	b := bare{l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go refuse(c)
		}
	}()
	return b, nil
}

// refuse answers every request of a connection. It takes each read as one request, because the
// client sends a request in one write.
func refuse(c net.Conn) {
	defer func() { _ = c.Close() }()
	b := make([]byte, 4<<10)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
		if _, err := c.Write(refusal); err != nil {
			return
		}
	}
}

// floor returns the goodput of the service at twice the sustainable rate, while a bare server
// on the same machine receives the flood. So it includes the cost of the flood that does not
// depend on the service.
func (b *bench) floor(ctx context.Context, sustainable float64) (float64, error) {
	server, err := newBare()
	if err != nil {
		return 0, err
	}
	defer func() { _ = server.Close() }()
	flood := newLoad(b.load.requests, server.Addr().String(), b.o)
	defer flood.close()
	flooded := make(chan error, 1)
	go func() { flooded <- flood.offer(ctx, max(1, b.o.factor-2)*sustainable, b.o.step) }()
	r, err := b.offer(ctx, 2*sustainable, b.o.step)
	if ferr := <-flooded; err == nil {
		err = ferr
	}
	return r.goodput(), err
}
