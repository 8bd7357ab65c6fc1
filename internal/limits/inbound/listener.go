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
	Conns      int // in all
	PerAddress int // of one address other than trusted proxies; of one /64 of IPv6
}

// The backoff after an Accept that failed for lack of a resource.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Second
)

// refusal is the answer to a connection above the bounds.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: application/json\r\n" +
	"Content-Length: 82\r\n\r\n" + `{"error":"too many connections","exceptions":[{"message":"too many connections"}]}`

// Listener accepts connections within bounds; Listen returns one.
type Listener struct {
	net.Listener
	bounds  Bounds
	proxies Proxies
	log     *slog.Logger
	m       *metrics

	mu     sync.Mutex
	conns  map[*Conn]struct{}
	byAddr map[string]int
	held   map[string]int // connections that are closed but for what they still send, by address
	holds  int            // all of these
	closed chan struct{}
	once   sync.Once
	stall  atomic.Int64 // see Drain; nanoseconds, 0: it does not drain
}

// Options of a Listener.
type Options struct {
	Proxies Proxies // whose connections are bounded in all only
	Log     *slog.Logger
	Metrics Registerer // may be nil
}

// Listen returns a listener over another one.
func Listen(l net.Listener, b Bounds, o Options) *Listener {
	in := &Listener{
		Listener: l, bounds: b, proxies: o.Proxies, log: o.Log,
		conns: map[*Conn]struct{}{}, byAddr: map[string]int{}, held: map[string]int{}, closed: make(chan struct{}),
	}
	in.m = newMetrics(o.Metrics, in.Open)
	return in
}

// Of all connections a heldShare may be held for what their clients still send, and of one
// address a heldShare of those that it may have.
const heldShare = 16

// hold counts a connection that is held for what its client still sends. It reports false
// where no more may be held. One that is held makes room for others as an idle one does.
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

// release ends what hold began.
func (l *Listener) release(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.held.Store(false)
	l.holds--
	if l.held[c.addr]--; l.held[c.addr] == 0 {
		delete(l.held, c.addr)
	}
}

// Held returns the number of connections that are held for what their clients still send.
func (l *Listener) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holds
}

// Open returns the number of connections.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// Accept waits for a connection within the bounds. It fails only when the listener
// is closed, or fails permanently.
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
			l.evict("") // which frees a descriptor
			select {
			case <-l.closed:
				return nil, net.ErrClosed
			case <-time.After(pause):
			}
			pause = min(2*pause, maxBackoff)
		}
	}
}

// Drain ends connections whose clients take nothing of their answers for a time, so that
// they do not keep a server from stopping.
func (l *Listener) Drain(stall time.Duration) {
	l.stall.Store(int64(stall))
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.boundWrite() // of a write that waits already
	}
}

// Close stops accepting; connections that were accepted stay.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// shortage reports whether accepting may succeed later: the process or the machine
// has no descriptor or memory left, or the client closed the connection before.
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

// admit adds a connection, after closing an idle one where there is no room; nil
// when it was refused.
func (l *Listener) admit(inner net.Conn) *Conn {
	c := &Conn{Conn: inner, l: l}
	c.since.Store(time.Now().UnixNano())
	if ip := hostOf(inner.RemoteAddr()); !l.proxies.Trusted(ip) {
		c.addr = Network(ip)
	}
	if c.addr != "" && l.count(c.addr) >= l.bounds.PerAddress && !l.evict(c.addr) {
		return l.refuse(inner, "address")
	}
	if l.Open() >= l.bounds.Conns && !l.evict("") {
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

// refuse answers within the empty send buffer of a new connection, and closes it.
func (l *Listener) refuse(inner net.Conn, bound string) *Conn {
	l.m.refused.WithLabelValues(bound).Inc()
	_ = inner.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_, _ = inner.Write([]byte(refusal))
	_ = inner.Close()
	return nil
}

// evict closes the connection that has been idle longest, or is held for what its client
// still sends, of an address or, for the empty one, of the address that has the most. It reports whether there was one.
func (l *Listener) evict(addr string) bool {
	l.mu.Lock()
	var oldest *Conn
	for c := range l.conns {
		if addr != "" && c.addr != addr || !c.Idle() && !c.held.Load() {
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

// evictsBefore reports whether c is closed rather than d.
func (l *Listener) evictsBefore(c, d *Conn) bool {
	if of, than := l.byAddr[c.addr], l.byAddr[d.addr]; of != than {
		return of > than
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
