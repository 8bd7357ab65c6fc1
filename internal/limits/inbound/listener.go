package inbound

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds limit the number of connections.
type Bounds struct {
	Conns      int // all connections
	PerAddress int // connections of one address, or of one /64 of IPv6; trusted proxies have no such limit
}

// The shortest and the longest pause after an Accept that failed because a resource was missing.
// The pause doubles with each failure.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Second
)

// refusal is the answer to a connection above the bounds.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: application/json\r\n" +
	"Content-Length: 82\r\n\r\n" + `{"error":"too many connections","exceptions":[{"message":"too many connections"}]}`

// Listener accepts connections within bounds. Listen returns a Listener.
type Listener struct {
	net.Listener
	bounds  Bounds
	proxies Proxies
	log     *slog.Logger
	m       *metrics

	mu     sync.Mutex
	conns  map[*Conn]struct{}
	byAddr map[string]int
	held   map[string]int // by address: number of connections that stay open only to read what their clients still send
	holds  int            // number of all held connections
	closed chan struct{}
	once   sync.Once
	stall  atomic.Int64 // the time that was passed to Drain, in nanoseconds; 0: Drain was not called
}

// Options are the options of a Listener.
type Options struct {
	Proxies Proxies // their connections are limited only by Bounds.Conns
	Log     *slog.Logger
	Metrics Registerer // nil: metrics are not registered
}

// Listen returns a listener that accepts the connections of l within bounds.
func Listen(l net.Listener, b Bounds, o Options) *Listener {
	in := &Listener{
		Listener: l, bounds: b, proxies: o.Proxies, log: o.Log,
		conns: map[*Conn]struct{}{}, byAddr: map[string]int{}, held: map[string]int{}, closed: make(chan struct{}),
	}
	in.m = newMetrics(o.Metrics, in.open)
	return in
}

// heldShare limits the connections that stay open only to read what their clients still send. The
// limits are 1/heldShare of Bounds.Conns in total, and 1/heldShare of Bounds.PerAddress for one
// address, but at least 1.
const heldShare = 16

// hold counts a connection that stays open only to read what its client still sends. It returns
// false if no more connections may be held. Like an idle connection, a held connection may be
// closed to make room for another connection.
func (l *Listener) hold(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds >= max(1, l.bounds.Conns/heldShare) || c.addr != "" && l.held[c.addr] >= max(1, l.bounds.PerAddress/heldShare) {
		return false
	}
	l.holds++
	l.held[c.addr]++
	c.since.Store(time.Now().UnixNano())
	c.held.Store(true)
	return true
}

// release no longer counts a connection as held.
func (l *Listener) release(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.held.Store(false)
	l.holds--
	if l.held[c.addr]--; l.held[c.addr] == 0 {
		delete(l.held, c.addr)
	}
}

// open returns the number of open connections.
func (l *Listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// Accept waits for a connection within the bounds. It fails only if the listener was closed or
// has a permanent error.
func (l *Listener) Accept() (net.Conn, error) {
	pause := minBackoff
	for {
		inner, err := l.Listener.Accept()
		switch {
		case err == nil:
			pause = minBackoff
			if c := l.admit(inner); c != nil {
				return c, nil
			}
		case !shortage(err):
			return nil, err
		default:
			l.log.Warn("no connection can be accepted", "err", err, "pause_ms", pause.Milliseconds())
			l.m.refused.WithLabelValues("shortage").Inc()
			l.evict("") // to free a descriptor
			select {
			case <-l.closed:
				return nil, net.ErrClosed
			case <-time.After(pause):
			}
			pause = min(2*pause, maxBackoff)
		}
	}
}

// Drain makes a write fail if the client reads nothing for the time stall. So a client that does
// not read its answer cannot prevent a server from stopping.
func (l *Listener) Drain(stall time.Duration) {
	l.stall.Store(int64(stall))
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.boundWrite() // for a write that already waits for its client
	}
}

// Close stops accepting. Connections that were accepted stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// shortage reports whether Accept may succeed later. The process or the machine has no free
// descriptor or memory, or the client closed the connection before it was accepted.
func shortage(err error) bool {
	for _, e := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR, syscall.EAGAIN,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit adds a connection. If there is no room, it first closes an idle or held connection. It
// returns nil if it refused the new connection.
func (l *Listener) admit(inner net.Conn) *Conn {
	c := &Conn{Conn: inner, l: l}
	c.since.Store(time.Now().UnixNano())
	if ip := hostOf(inner.RemoteAddr()); !l.proxies.trusted(ip) {
		c.addr = Network(ip)
	}
	if c.addr != "" && l.count(c.addr) >= l.bounds.PerAddress && !l.evict(c.addr) {
		return l.refuse(inner, "address")
	}
	if l.open() >= l.bounds.Conns && !l.evict("") {
		return l.refuse(inner, "all")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	l.byAddr[c.addr]++
	l.m.accepted.Inc()
	return c
}

func (l *Listener) count(addr string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byAddr[addr]
}

// refuse sends the refusal and closes the connection. The send buffer of a new connection is
// empty, so the write does not wait for the client.
func (l *Listener) refuse(inner net.Conn, bound string) *Conn {
	l.m.refused.WithLabelValues(bound).Inc()
	_ = inner.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_, _ = inner.Write([]byte(refusal))
	_ = inner.Close()
	return nil
}

// evict closes one idle or held connection of an address: the connection that has been idle or held
// longest. For the empty address it considers all addresses, and prefers the address with the most
// connections. It reports whether it closed a connection.
func (l *Listener) evict(addr string) bool {
	l.mu.Lock()
	var oldest *Conn
	for c := range l.conns {
		if addr != "" && c.addr != addr || !c.idle() && !c.held.Load() {
			continue
		}
		if oldest == nil || l.evictsBefore(c, oldest) {
			oldest = c
		}
	}
	l.mu.Unlock()
	if oldest == nil {
		return false
	}
	l.m.evicted.Inc()
	_ = oldest.abort()
	return true
}

// evictsBefore reports whether c is closed before d. That is the case if the address of c has more
// connections. If both addresses have equally many, it is the case if c has been idle longer.
func (l *Listener) evictsBefore(c, d *Conn) bool {
	if ofC, ofD := l.byAddr[c.addr], l.byAddr[d.addr]; ofC != ofD {
		return ofC > ofD
	}
	return c.since.Load() < d.since.Load()
}

func (l *Listener) drop(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.conns[c]; !open {
		return
	}
	delete(l.conns, c)
	if l.byAddr[c.addr]--; l.byAddr[c.addr] == 0 {
		delete(l.byAddr, c.addr)
	}
}
