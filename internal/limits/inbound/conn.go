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
	addr string // network under which the listener counts the connection; empty: a trusted proxy

	busy   atomic.Bool          // true: a request is being read or answered
	heard  atomic.Bool          // true: a byte arrived after the connection became idle
	since  atomic.Int64         // when the connection became idle or held, UTC nanoseconds
	linger atomic.Pointer[Rest] // limits of the data that Close reads; nil: Close reads nothing
	held   atomic.Bool          // true: open only to read what the client still sends
	closed atomic.Bool
	eof    atomic.Bool // true: the client sends nothing more, and everything that it sent has been read

	until atomic.Pointer[time.Time] // the deadline of SetWriteDeadline; nil: no deadline
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

// Write implements net.Conn. After Listener.Drain, a write fails if the client reads nothing for
// the time that was passed to Drain.
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

// boundWrite sets the write deadline of the connection after Listener.Drain. The deadline is the
// current time plus the duration that was passed to Drain. If the deadline of SetWriteDeadline is
// earlier, boundWrite sets that deadline.
func (c *Conn) boundWrite() error {
	end := time.Now().Add(time.Duration(c.l.stall.Load()))
	if set := c.until.Load(); set != nil && set.Before(end) {
		end = *set
	}
	return c.Conn.SetWriteDeadline(end)
}

// Ended reports whether a read has returned io.EOF. The client then sends nothing more.
func (c *Conn) Ended() bool { return c.eof.Load() }

// SetIdle marks the connection as idle: a request was answered, and the next request has not begun.
func (c *Conn) SetIdle() {
	c.since.Store(time.Now().UnixNano())
	c.heard.Store(false)
	c.busy.Store(false)
}

// SetBusy marks the connection as busy: a request has begun.
func (c *Conn) SetBusy() { c.busy.Store(true) }

// idle reports whether the connection waits for the first byte of a request.
func (c *Conn) idle() bool { return !c.busy.Load() && !c.heard.Load() }

// Rest limits the data that Close reads and drops from a client that is still sending. If Close
// closed the connection at once, the connection would be reset before the client has read the
// answer.
type Rest struct {
	Bytes int64
	Grace time.Duration // time in which the first byte must arrive
	Rate  int64         // minimum bytes per second after Grace; 0: Short is the limit
	Short time.Duration // time limit if Rate is 0 or no more connections may be held; then lingerBytes is also a limit
}

// lingerBytes is the maximum number of bytes that are read within Rest.Short.
const lingerBytes = 1 << 20

// SetLinger makes Close read from a client that may still be sending.
func (c *Conn) SetLinger(r Rest) { c.linger.Store(&r) }

// Close closes the connection. After SetLinger it returns at once, but the connection stays open to
// read and drop what the client still sends. The connection ends when the client closes it or
// exceeds the limits of SetLinger.
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

// dropped is the maximum number of bytes of one read.
const dropped = 16 << 10

// drop reads and drops data from the client, until the client has closed the connection, is too
// slow, or has sent rest.Bytes.
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
	err := c.Conn.Close() // before l.drop, since the descriptor must be free before another connection is admitted
	c.l.drop(c)
	return err
}

// The times at which Watch checks a connection.
const (
	watchAfter = time.Second            // from the start of the request to the first check
	watchEvery = 500 * time.Millisecond // between two checks
)

// Watch calls onClose when the client closes the connection while its request runs. Requests
// that are shorter than watchAfter are not checked. The caller must call stop before the next
// request is read.
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
