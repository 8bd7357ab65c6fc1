package db_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// refusing is a proxy between alds and a real server. The proxy answers some statements itself,
// with an error. The server never gets them, and its transaction stays open.
type refusing struct {
	statement string                  // the statement to refuse, sent as text, such as COMMIT
	refuse    atomic.Pointer[refusal] // nil: every statement goes to the server
	refused   atomic.Int32
}

type refusal struct {
	number  uint16
	message string
	times   int32 // the maximum number of refusals
}

// open opens a database through r.
func (r *refusing) open(t *testing.T) *db.DB {
	t.Helper()
	u, err := url.Parse(testdb.URL(t, "mysql"))
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go r.carry(client, server)
		}
	}()
	u.Host = l.Addr().String()
	d, err := db.Open(context.Background(), u.String(), db.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// carry forwards the packets of one connection until either side closes it.
func (r *refusing) carry(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	head := make([]byte, 4)
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		const textQuery = 3
		statement, _, _ := strings.Cut(string(body), ";") // an error also ends the later statements of the packet
		if f := r.refuse.Load(); f != nil && head[3] == 0 && statement == string(rune(textQuery))+r.statement && r.refused.Add(1) <= f.times {
			if _, err := client.Write(f.packet()); err != nil {
				return
			}
			continue
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return
		}
	}
}

// packet returns the error in MySQL's protocol.
func (f *refusal) packet() []byte {
	body := binary.LittleEndian.AppendUint16([]byte{0xff}, f.number)
	body = append(append(body, "#HY000"...), f.message...)
	return append([]byte{byte(len(body)), 0, 0, 1}, body...)
}
