package testdb

import (
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
)

// Counted returns the address of a proxy in front of a server, and the number of commands that
// the server has answered.
func Counted(t testing.TB, address string) (string, *atomic.Int64) {
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

// forward counts the commands of a client by the header of MySQL's protocol. It has three
// bytes of length, and a number that is 0 at the start of a command.
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
