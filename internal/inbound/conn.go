package inbound

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Conn is one connection of a client.
type Conn struct {
	net.Conn
	l    *Listener
	addr string // what its bound is counted under; empty: none

	busy   atomic.Bool  // a request is being read or answered
	heard  atomic.Bool  // a byte came since it was idle
	since  atomic.Int64 // idle since, UTC nanoseconds
	linger atomic.Bool  // the client may still be sending when it is closed
	closed atomic.Bool
}

// Read reads what the client sent.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	return n, err
}

// SetIdle tells that a request has been answered and none has begun.
func (c *Conn) SetIdle() {
	c.since.Store(time.Now().UnixNano())
	c.heard.Store(false)
	c.busy.Store(false)
}

// SetBusy tells that a request is being worked on.
func (c *Conn) SetBusy() { c.busy.Store(true) }

// Idle reports whether the connection waits for a request of which no byte came.
func (c *Conn) Idle() bool { return !c.busy.Load() && !c.heard.Load() }

// The end of a connection whose client may still be sending: what it sends is
// read and dropped for a while, since closing at once would reset the connection
// before the client has read the answer.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// SetLinger lets Close wait for a client that may still be sending.
func (c *Conn) SetLinger() { c.linger.Store(true) }

// Close ends the connection.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !c.linger.Load() || !ok || half.CloseWrite() != nil {
		return c.end()
	}
	go func() {
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, lingerBytes))
		_ = c.end()
	}()
	return nil
}

// abort ends the connection whatever it does.
func (c *Conn) abort() error {
	c.closed.Store(true)
	return c.end()
}

func (c *Conn) end() error {
	err := c.Conn.Close() // before its place is given away: it is a descriptor
	c.l.drop(c)
	return err
}

// How often a connection is looked at while its request is worked on.
const (
	watchAfter = time.Second
	watchEvery = 500 * time.Millisecond
)

// Watch calls gone when the client ends the connection while its request is
// worked on. It looks from time to time, and not at all at short requests. The
// caller stops it before the next request is read.
func (c *Conn) Watch(gone func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var look func()
	look = func() {
		switch {
		case ctx.Err() != nil:
		case ended(c.Conn):
			gone()
		default:
			time.AfterFunc(watchEvery, look)
		}
	}
	timer := time.AfterFunc(watchAfter, look)
	return func() {
		timer.Stop()
		cancel()
	}
}
