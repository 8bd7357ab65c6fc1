package torture

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// proxy forwards connections to the node that accepts writes.
type proxy struct {
	address string

	mu    sync.Mutex
	to    string
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, c *testdb.Cluster) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &proxy{address: l.Addr().String(), conns: map[net.Conn]bool{}}
	p.forward(c.Nodes[c.Writer()])
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

// forward makes the proxy forward new connections to a node. It closes all existing connections.
func (p *proxy) forward(node *testdb.Own) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = node.URL[strings.Index(node.URL, "@")+1:]
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) serve(from net.Conn) {
	defer from.Close()
	p.mu.Lock()
	address := p.to
	p.mu.Unlock()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	p.mu.Lock()
	if p.to != address {
		p.mu.Unlock()
		return
	}
	p.conns[from], p.conns[to] = true, true
	p.mu.Unlock()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, from)
	delete(p.conns, to)
}
