package testdb

import (
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
)

// Counted starts a proxy in front of a server. It returns the address of the proxy, and a counter of the
// commands that clients have sent and the server must answer.
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

// forward forwards a connection and counts the commands in it. Each packet of MySQL's protocol begins with
// three bytes for its length and one byte for its number. The number is 0 in the first packet of a command.
func forward(client net.Conn, server string, trips *atomic.Int64) {
	const closeStatement = 0x19 // this command has no answer
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
