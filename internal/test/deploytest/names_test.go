package deploytest

import (
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a DNS server that resolves one name to several addresses, as Docker's DNS server does for the
// containers of a service.
type names struct {
	addr string
	name string

	mu        sync.Mutex
	addresses [][4]byte
}

func newNames(t *testing.T, name string) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // closed by Cleanup
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	n := &names{addr: conn.LocalAddr().String(), name: name}
	go n.serve(conn)
	return n
}

// set replaces the addresses to which the name resolves.
func (n *names) set(hosts ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses = nil
	for _, h := range hosts {
		n.addresses = append(n.addresses, [4]byte(net.ParseIP(h).To4()))
	}
}

func (n *names) serve(conn net.PacketConn) {
	buffer := make([]byte, 4<<10)
	for {
		size, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if answer, err := n.answer(buffer[:size]); err == nil {
			_, _ = conn.WriteTo(answer, from)
		}
	}
}

func (n *names) answer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, q := range m.Questions {
		if strings.TrimSuffix(q.Name.String(), ".") != n.name {
			m.RCode = dnsmessage.RCodeNameError
			continue
		}
		for _, a := range n.addresses {
			if q.Type == dnsmessage.TypeA {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
					Body:   &dnsmessage.AResource{A: a},
				})
			}
		}
	}
	return m.Pack()
}
