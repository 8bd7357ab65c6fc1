package inbound

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Conn is one connection of a client.
type Conn struct {
	net.Conn
	l    *Listener
	addr string // the address under which it is counted; empty: none

	busy   atomic.Bool          // a request is being read or answered
	heard  atomic.Bool          // a byte arrived since it was idle
	since  atomic.Int64         // idle since, UTC nanoseconds
	linger atomic.Pointer[Rest] // what the client may still be sending when it is closed; nil: nothing
	held   atomic.Bool          // it is closed but for what it still sends
	closed atomic.Bool
	eof    atomic.Bool // all that the client sent has been read, and no more will come

	until atomic.Pointer[time.Time] // writes end then, as SetWriteDeadline says; nil: never
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
	}
	if errors.Is(err, io.EOF) {
		c.eof.Store(true)
	}
	return n, err
}

// Write implements net.Conn. Once the listener drains, it fails when the client takes nothing
// for the time of Drain.
func (c *Conn) Write(b []byte) (n int, err error) {
	for {
		if c.l.stall.Load() > 0 {
			_ = c.boundWrite()
		}
		m, err := c.Conn.Write(b[n:])
		n += m
		if err == nil || m == 0 || c.l.stall.Load() == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if end := c.until.Load(); end != nil && !time.Now().Before(*end) {
			return n, err
		}
	}
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if c.until.Store(&t); t.IsZero() {
		c.until.Store(nil)
	}
	if c.l.stall.Load() > 0 {
		return c.boundWrite()
	}
	return c.Conn.SetWriteDeadline(t)
}

// boundWrite ends a write when the client takes nothing for a time, or sooner where its
// deadline comes before.
func (c *Conn) boundWrite() error {
	end := time.Now().Add(time.Duration(c.l.stall.Load()))
	if set := c.until.Load(); set != nil && set.Before(end) {
		end = *set
	}
	return c.Conn.SetWriteDeadline(end)
}

// Ended reports whether a read has come to the end of what the client sends.
func (c *Conn) Ended() bool { return c.eof.Load() }

// SetIdle is called when a request has been answered and no other has begun.
func (c *Conn) SetIdle() {
	c.since.Store(time.Now().UnixNano())
	c.heard.Store(false)
	c.busy.Store(false)
}

// SetBusy is called when a request begins.
func (c *Conn) SetBusy() { c.busy.Store(true) }

// Idle reports whether the connection waits for the first byte of a request.
func (c *Conn) Idle() bool { return !c.busy.Load() && !c.heard.Load() }

// Rest bounds what is read and discarded from a client that is still sending: closing at
// once would reset the connection before the client has read the answer.
type Rest struct {
	Bytes int64
	Grace time.Duration // until the first byte must have come
	Rate  int64         // bytes a second after that
	Short time.Duration // instead of these, where no more connections may be held; and for 1 MiB
}

// lingerBytes is what is read in a short time.
const lingerBytes = 1 << 20

// SetLinger makes Close read from a client that may still be sending.
func (c *Conn) SetLinger(r Rest) { c.linger.Store(&r) }

// Close ends the connection. What a client is still sending is read first where SetLinger
// was called; then it ends when the client closes it, or exceeds the bounds.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	rest := c.linger.Load()
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if rest == nil || !ok || half.CloseWrite() != nil {
		return c.end()
	}
	go func() {
		if rest.Rate > 0 && c.l.hold(c) {
			c.drop(*rest)
			c.l.release(c)
		} else {
			_ = c.SetReadDeadline(time.Now().Add(rest.Short))
			_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, lingerBytes))
		}
		_ = c.end()
	}()
	return nil
}

// dropped is how many bytes are read at a time.
const dropped = 16 << 10

// drop reads what the client sends, as long as it keeps the pace.
func (c *Conn) drop(rest Rest) {
	b := make([]byte, dropped)
	began := time.Now()
	for n := int64(0); n < rest.Bytes; {
		_ = c.SetReadDeadline(began.Add(rest.Grace + time.Duration(n)*time.Second/time.Duration(rest.Rate)))
		m, err := c.Conn.Read(b)
		if n += int64(m); err != nil {
			return
		}
	}
}

// abort closes the connection at once.
func (c *Conn) abort() error {
	c.closed.Store(true)
	return c.end()
}

func (c *Conn) end() error {
	err := c.Conn.Close() // first, since the descriptor must be free before another connection is admitted
	c.l.drop(c)
	return err
}

// When a connection is checked while its request runs.
const (
	watchAfter = time.Second
	watchEvery = 500 * time.Millisecond
)

// Watch calls onClose when the client closes the connection while its request runs.
// Short requests are not checked. The caller stops it before the next request is
// read.
func (c *Conn) Watch(onClose func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var check func()
	check = func() {
		switch {
		case ctx.Err() != nil:
		case ended(c.Conn):
			onClose()
		default:
			time.AfterFunc(watchEvery, check)
		}
	}
	timer := time.AfterFunc(watchAfter, check)
	return func() {
		timer.Stop()
		cancel()
	}
}
