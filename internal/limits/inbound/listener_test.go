package inbound

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// listen opens a listener. It sends accepted connections to the channel accepted.
func listen(t *testing.T, b Bounds, p Proxies) (l *Listener, accepted chan *Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = Listen(inner, b, Options{Proxies: p, Log: slog.New(slog.DiscardHandler)})
	accepted = make(chan *Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c.(*Conn)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return l, accepted
}

// dial connects from an address of this machine.
func dial(t *testing.T, l *Listener, from string) net.Conn {
	t.Helper()
	testdb.Address(t, from)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 2 * time.Minute}
	c, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
}

func isClosed(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the connection is open: %d bytes, %v", n, err)
	}
}

func isRefused(t *testing.T, c net.Conn) {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" || err != nil || !strings.HasPrefix(string(body), `{"error":`) {
		t.Errorf("status %d, %v, %s, %v", answer.StatusCode, answer.Header, body, err)
	}
}

// heldNow returns the number of connections that stay open only to read what their clients still
// send.
func (l *Listener) heldNow() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holds
}

func TestIdleConnectionsMakeRoom(t *testing.T) {
	l, accepted := listen(t, Bounds{Conns: 3, PerAddress: 3}, nil)
	flood := []net.Conn{dial(t, l, "127.0.0.2"), dial(t, l, "127.0.0.2")}
	first := <-accepted
	<-accepted
	dial(t, l, "127.0.0.3")
	<-accepted
	first.SetBusy() // the oldest connection, but not idle
	dial(t, l, "127.0.0.4")
	<-accepted
	isClosed(t, flood[1])
	if got := l.open(); got != 3 {
		t.Errorf("%d connections", got)
	}
}

func TestBusyConnectionsStay(t *testing.T) {
	l, accepted := listen(t, Bounds{Conns: 2, PerAddress: 2}, nil)
	for range 2 {
		c := dial(t, l, "127.0.0.2")
		in := <-accepted
		if _, err := c.Write([]byte("G")); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	isRefused(t, dial(t, l, "127.0.0.3"))
	if got := l.open(); got != 2 {
		t.Errorf("%d connections", got)
	}
}

func TestAddressesAreBounded(t *testing.T) {
	proxies := Proxies{netip.MustParsePrefix("127.0.0.9/32")}
	l, accepted := listen(t, Bounds{Conns: 10, PerAddress: 1}, proxies)
	dial(t, l, "127.0.0.2")
	(<-accepted).SetBusy()
	isRefused(t, dial(t, l, "127.0.0.2"))
	for range 3 {
		dial(t, l, "127.0.0.9")
		(<-accepted).SetBusy()
	}
	for _, c := range []string{"127.0.0.3", "127.0.0.4"} {
		dial(t, l, c)
		<-accepted
	}
	if got := l.open(); got != 6 {
		t.Errorf("%d connections", got)
	}
}

// short is a listener whose first calls of Accept fail with the errors errs, for example because no
// descriptor is free.
type short struct {
	net.Listener
	errs []error
}

func (s *short) Accept() (net.Conn, error) {
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	}
	return s.Listener.Accept()
}

func TestAListenerGoesOnAfterAShortage(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(&short{inner, []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOMEM}}, Bounds{Conns: 1, PerAddress: 1},
		Options{Log: slog.New(slog.DiscardHandler)})
	dial(t, l, "127.0.0.1")
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := l.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

func TestWatchReportsAClosedConnection(t *testing.T) {
	l, accepted := listen(t, Bounds{Conns: 2, PerAddress: 2}, nil)
	staying, going := dial(t, l, "127.0.0.1"), dial(t, l, "127.0.0.1")
	a, b := <-accepted, <-accepted
	if a.RemoteAddr().String() != staying.LocalAddr().String() {
		a, b = b, a
	}
	open, closed := make(chan bool, 1), make(chan bool, 1)
	defer a.Watch(func() { open <- true })()
	defer b.Watch(func() { closed <- true })()
	_ = going.Close()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("not reported")
	}
	if len(open) > 0 {
		t.Error("the open connection is reported as closed")
	}
}

// TestTheLastAnswerArrives closes a connection whose client is still sending. The client must
// be able to read the answer.
func TestTheLastAnswerArrives(t *testing.T) {
	l, accepted := listen(t, Bounds{Conns: 1, PerAddress: 1}, nil)
	c := dial(t, l, "127.0.0.1")
	in := <-accepted
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, 600<<10))
		sent <- err
	}()
	if _, err := in.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	in.SetLinger(Rest{Short: time.Minute})
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); string(answer) != "answer" || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	if err := <-sent; err != nil {
		t.Errorf("sending: %v", err)
	}
	_ = c.Close() // otherwise the server would wait for more
}

func TestClient(t *testing.T) {
	proxies := Proxies{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/32"),
	}
	for _, c := range []struct {
		from      string
		forwarded []string
		want      string
	}{
		{"198.51.100.7:1", []string{"203.0.113.9"}, "198.51.100.7"}, // not a trusted proxy, so its header is ignored
		{"10.1.2.3:1", nil, "10.1.2.3"},
		{"10.1.2.3:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"6.6.6.6, 203.0.113.9, 192.0.2.1"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"6.6.6.6", "203.0.113.9"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"203.0.113.9:5555"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"[2001:db9::1]:443"}, "2001:db9::1"},
		{"10.1.2.3:1", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"nonsense"}, "10.1.2.3"},
		{"10.1.2.3:1", []string{"10.9.9.9"}, "10.9.9.9"},
		{"[2001:db8::5]:1", []string{"203.0.113.9"}, "203.0.113.9"},
	} {
		from, err := net.ResolveTCPAddr("tcp", c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := proxies.Client(from, c.forwarded).String(); got != c.want {
			t.Errorf("from %s, forwarded for %q: %s, want %s", c.from, c.forwarded, got, c.want)
		}
	}
	if a, b := Network(proxies[2].Addr()), "2001:db8::/64"; a != b {
		t.Errorf("%s, want %s", a, b)
	}
}

// stillSending returns both ends of a connection. When the server closes its end, the client may
// still send.
func stillSending(t *testing.T, l *Listener, accepted chan *Conn, from string) (client net.Conn, in *Conn) {
	t.Helper()
	client = dial(t, l, from)
	in = <-accepted
	in.SetBusy()
	in.SetLinger(Rest{Bytes: 8 << 20, Grace: time.Minute, Rate: 1 << 10, Short: time.Millisecond})
	return client, in
}

// TestTheRestIsDropped checks that Close reads and drops more than lingerBytes. The connection must
// end when the client closes it or is too slow.
func TestTheRestIsDropped(t *testing.T) {
	l, accepted := listen(t, Bounds{Conns: 16, PerAddress: 16}, nil)
	c, in := stillSending(t, l, accepted, "127.0.0.1")
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(make([]byte, 6<<20)); err != nil {
		t.Errorf("sending: %v", err)
	}
	if l.heldNow() != 1 {
		t.Errorf("%d connections are held", l.heldNow())
	}
	_ = c.Close()
	for l.heldNow()+l.open() > 0 {
		runtime.Gosched()
	}
	c, in = stillSending(t, l, accepted, "127.0.0.1")
	in.SetLinger(Rest{Bytes: 8 << 20, Grace: time.Millisecond, Rate: 1 << 30})
	_ = in.Close()
	isClosed(t, c)
	for l.heldNow() > 0 {
		runtime.Gosched()
	}
}

// TestHeldConnectionsAreBounded checks two limits of held connections: the limit of all
// connections, and the limit of one address. Connections above the limits are closed after
// Rest.Short.
func TestHeldConnectionsAreBounded(t *testing.T) {
	l, accepted := listen(t, Bounds{Conns: 3 * heldShare, PerAddress: 2 * heldShare}, nil)
	var all []*Conn
	for _, from := range []string{"127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.2"} {
		_, in := stillSending(t, l, accepted, from)
		all = append(all, in)
	}
	for i, c := range []struct{ held, open int }{{1, 5}, {2, 5}, {2, 4}, {3, 4}, {3, 3}} {
		_ = all[i].Close()
		for l.heldNow() != c.held || l.open() != c.open {
			runtime.Gosched()
		}
	}
}

// TestHeldConnectionsMakeRoom checks that a held connection is closed to make room for another
// connection, like an idle connection.
func TestHeldConnectionsMakeRoom(t *testing.T) {
	l, accepted := listen(t, Bounds{Conns: 1, PerAddress: 1}, nil)
	held, in := stillSending(t, l, accepted, "127.0.0.1")
	_ = in.Close()
	for l.heldNow() == 0 {
		runtime.Gosched()
	}
	dial(t, l, "127.0.0.1")
	<-accepted
	_ = held.SetWriteDeadline(time.Now().Add(time.Minute))
	for err := error(nil); err == nil; {
		_, err = held.Write(make([]byte, 1<<20))
	}
	for l.heldNow() > 0 {
		runtime.Gosched()
	}
}
