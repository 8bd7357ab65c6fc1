package testdb

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// Line is a proxy in front of a server. It can be frozen. Then no bytes pass, and client and server do not
// notice that they cannot reach each other. That is what happens when a host or a network fails.
type Line struct {
	Addr string // host:port to which clients connect instead of the server

	to      string
	from    []byte // text that Replace replaces; nil: none
	by      []byte
	mu      sync.Mutex
	thawed  *sync.Cond
	frozen  bool
	left    int // how many bytes may still pass before the line freezes; 0: no limit
	closed  bool
	conns   map[net.Conn]bool
	serving sync.WaitGroup
}

// NewLine opens a line to a server at host:port. It is closed at the end of the test.
func NewLine(t testing.TB, to string) *Line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	line := &Line{Addr: l.Addr().String(), to: to, conns: map[net.Conn]bool{}}
	line.thawed = sync.NewCond(&line.mu)
	line.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line.serving.Go(func() { line.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		line.close()
		line.serving.Wait()
	})
	return line
}

// Replace makes the line replace a text in the statements of MySQL clients. Both texts must have the same
// length. Call it before the first connection.
func (l *Line) Replace(text, by string) { l.from, l.by = []byte(text), []byte(by) }

// Freeze holds back all bytes in both directions until Thaw.
func (l *Line) Freeze() { l.set(true) }

// FreezeAfter freezes the line when n more bytes have passed, counted in both directions together.
func (l *Line) FreezeAfter(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = n
}

// Thaw ends Freeze. The bytes that were held back pass, too.
func (l *Line) Thaw() { l.set(false) }

// Cut closes all connections. Until Mend, it also closes each new connection at once, as a restarting
// server does.
func (l *Line) Cut() { l.close() }

// Mend makes the line accept connections again after Cut.
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = false
}

func (l *Line) set(frozen bool) {
	l.mu.Lock()
	l.frozen, l.left = frozen, 0
	l.mu.Unlock()
	l.thawed.Broadcast()
}

func (l *Line) close() {
	l.mu.Lock()
	l.closed = true
	for c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.thawed.Broadcast()
}

// pass counts n bytes, and waits while the line is frozen. It returns false if the line was cut.
func (l *Line) pass(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left > 0 {
		if l.left -= n; l.left <= 0 {
			l.frozen, l.left = true, 0
		}
	}
	for l.frozen && !l.closed {
		l.thawed.Wait()
	}
	return !l.closed
}

// has adds a connection. It returns false if the line was cut.
func (l *Line) has(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = true
	return !l.closed
}

func (l *Line) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	if !l.has(client) || !l.pass(0) {
		return
	}
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if !l.has(server) {
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() {
		if l.from != nil {
			_ = l.statements(server, client)
		} else {
			_ = l.copy(server, client)
		}
		_ = server.Close()
	})
	_ = l.copy(client, server)
	_ = client.Close()
	ways.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, client)
	delete(l.conns, server)
}

// copy copies bytes until one side ends the connection. While the line is frozen, the other side does not
// notice the end.
func (l *Line) copy(to, from net.Conn) error {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if !l.pass(n) {
			return net.ErrClosed
		}
		if n > 0 {
			if _, err := to.Write(part[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// statements is like copy, for packets of a MySQL client. It replaces the text of Replace.
func (l *Line) statements(to, from net.Conn) error {
	for {
		head := make([]byte, 4)
		_, err := io.ReadFull(from, head)
		var body []byte
		if err == nil {
			size := binary.LittleEndian.Uint32(append(head[:3:3], 0))
			body = make([]byte, size)
			_, err = io.ReadFull(from, body)
		}
		if !l.pass(len(body)) {
			return net.ErrClosed
		}
		if err != nil {
			return err
		}
		if _, err := to.Write(append(head, bytes.ReplaceAll(body, l.from, l.by)...)); err != nil {
			return err
		}
	}
}
