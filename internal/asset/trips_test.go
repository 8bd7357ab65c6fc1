package asset_test

import (
	"io"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/testdb"
)

// TestRoundTrips holds how often a write waits for the server: each way costs it the
// distance between the two.
func TestRoundTrips(t *testing.T) {
	to, trips := counted(t, testdb.URL(t, "mysql"))
	d, err := db.Open(t.Context(), to, db.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	w := newHarness(t, d)
	n := 0
	for _, c := range []struct {
		what  string
		write func()
		want  int64 // BEGIN and COMMIT are two
	}{
		{"a create", func() { w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0")) }, 5},
		{"an update", func() { n++; w.must(update("Story:1001", "Estimate", strconv.Itoa(n))) }, 5},
		{"an update of a relation", func() { n++; w.must(update("Story:1001", "Super", [...]string{"Epic:1002", "Epic:1003"}[n%2])) }, 8},
		{"a task", func() { w.must(create("Task", "@t", "Name", "T", "Parent", "Story:1001")) }, 6},
	} {
		t.Run(c.what, func(t *testing.T) {
			if n == 0 {
				w.must(create("Story", "@first", "Name", "S", "Scope", "Scope:0"), create("Epic", "@a", "Name", "A", "Scope", "Scope:0"), create("Epic", "@b", "Name", "B", "Scope", "Scope:0"))
				n++
			}
			c.write() // statements are prepared, and ids taken
			before := trips.Load()
			c.write()
			if got := trips.Load() - before; got != c.want {
				t.Errorf("%d round trips, want %d", got, c.want)
			}
		})
	}
}

// counted returns the address of a server by way of a proxy, and the count of commands
// that it has answered.
func counted(t *testing.T, address string) (string, *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	server, trips := u.Host, &atomic.Int64{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go forward(client, server, trips)
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), trips
}

// forward counts what a client sends by the header of MySQL's protocol: three bytes of
// length, and a number that is 0 where a command begins.
func forward(client net.Conn, server string, trips *atomic.Int64) {
	const closeStatement = 0x19 // has no answer
	to, err := net.Dial("tcp", server)
	if err != nil {
		_ = client.Close()
		return
	}
	go func() { _, _ = io.Copy(client, to); _ = client.Close() }()
	defer func() { _ = to.Close() }()
	header := make([]byte, 4)
	for {
		if _, err := io.ReadFull(client, header); err != nil {
			return
		}
		body := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		if header[3] == 0 && len(body) > 0 && body[0] != closeStatement {
			trips.Add(1)
		}
		if _, err := to.Write(append(header[:4:4], body...)); err != nil {
			return
		}
	}
}
