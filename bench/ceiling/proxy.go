package main

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// chunkSize limits the bytes of one read. inFlight limits the chunks that are delayed in one
// direction of a connection. It is high enough that no rate of the loopback fills it within a
// delay.
const (
	chunkSize = 64 << 10
	inFlight  = 4_096
)

// proxy passes data to the database and back with a delay, as a longer cable would, and with
// the same throughput as without it.
type proxy struct {
	net.Listener

	to     string
	delay  atomic.Int64 // of each direction, in nanoseconds
	counts counts
	failed atomic.Pointer[error] // error of an alarm

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	all    sync.WaitGroup
}

// newProxy listens on the loopback and passes connections on to an address.
func newProxy(to string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{Listener: l, to: to, conns: map[net.Conn]bool{}}
	p.all.Go(p.accept)
	return p, nil
}

// setDelay sets the delay of each direction for all data that is read from now on.
func (p *proxy) setDelay(d time.Duration) { p.delay.Store(int64(d)) }

// close closes all connections.
func (p *proxy) close() error {
	err := p.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
	if failed := p.failed.Load(); failed != nil {
		err = errors.Join(err, *failed)
	}
	return err
}

func (p *proxy) accept() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.serve(client) })
	}
}

// keep registers a connection for close. It returns false if the proxy is already closed.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c] = true
	return true
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// serve passes data in both directions until both sides have closed the connection.
func (p *proxy) serve(client net.Conn) {
	defer p.drop(client)
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer p.drop(server)
	if !p.keep(client) || !p.keep(server) {
		return
	}
	t := newTalk(&p.counts)
	var both sync.WaitGroup
	both.Go(func() { p.pass(client, server, t.asked, nil) })
	both.Go(func() { p.pass(server, client, nil, t.answered) })
	both.Wait()
}

// chunk is data from one read, with the time at which it must be written.
type chunk struct {
	due  time.Time
	data []byte
}

// pass carries the data of one direction of a connection. read is called with each chunk when
// it is read. written is called before each chunk is written. Both may be nil.
func (p *proxy) pass(from, to net.Conn, read func([]byte), written func()) {
	way := make(chan chunk, inFlight)
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := arrive(way, to, written); err != nil {
			var broken net.Error
			if !errors.As(err, &broken) && !errors.Is(err, net.ErrClosed) {
				p.failed.Store(&err)
			}
			_ = from.Close()
			for range way { // empty the channel, so that the reader does not block
			}
		}
		if half, ok := to.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	})
	buf := make([]byte, chunkSize)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			due := time.Now().Add(time.Duration(p.delay.Load()))
			if read != nil {
				read(buf[:n])
			}
			way <- chunk{due, append([]byte(nil), buf[:n]...)}
		}
		if err != nil {
			close(way)
			writer.Wait()
			return
		}
	}
}

// arrive writes each chunk when it is due.
func arrive(way <-chan chunk, to net.Conn, written func()) error {
	a, err := newAlarm()
	if err != nil {
		return err
	}
	defer a.close()
	for c := range way {
		if err := a.until(c.due); err != nil {
			return err
		}
		if written != nil {
			written()
		}
		if _, err := to.Write(c.data); err != nil {
			return err
		}
	}
	return nil
}
