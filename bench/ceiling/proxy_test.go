package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// echo is a server that returns all data it receives.
func echo(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l
}

func newTestProxy(t *testing.T) *proxy {
	p, err := newProxy(echo(t).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestProxyDelaysBothDirections(t *testing.T) {
	p := newTestProxy(t)
	const half = 7 * time.Millisecond
	p.setDelay(half)
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 4)
	for range 5 {
		began := time.Now()
		if _, err := c.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*half || string(answer) != "ping" {
			t.Errorf("%q after %v", answer, took)
		}
	}
}

// TestProxyKeepsTheOrder checks that data in pieces of all sizes is returned completely and
// unchanged, although the delay changes during the transfer.
func TestProxyKeepsTheOrder(t *testing.T) {
	p := newTestProxy(t)
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent := make([]byte, 3<<20)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	go func() {
		for left := sent; len(left) > 0; {
			n := min(len(left), 1+rand.N(100_000))
			p.setDelay(time.Duration(rand.N(3)) * time.Millisecond)
			_, _ = c.Write(left[:n])
			left = left[n:]
		}
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes came back, equal: %v, %v", len(got), len(sent), bytes.Equal(got, sent), err)
	}
}

// TestChunksAreInFlightTogether writes no chunk before all chunks are read. A proxy that
// carried one chunk at a time would block forever.
func TestChunksAreInFlightTogether(t *testing.T) {
	const chunks = 100
	p := &proxy{}
	client, from := net.Pipe()
	to, server := net.Pipe()
	var read atomic.Int64
	all := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		p.pass(from, to, func([]byte) {
			if read.Add(1) == chunks {
				close(all)
			}
		}, func() { <-all })
		_ = to.Close()
		close(ended)
	}()
	go func() {
		for i := range chunks {
			_, _ = client.Write([]byte{byte(i)})
		}
		_ = client.Close()
	}()
	got, err := io.ReadAll(server)
	<-ended
	if err != nil || len(got) != chunks || got[0] != 0 || got[chunks-1] != chunks-1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestProxyWithoutServer checks that the client's connection is closed.
func TestProxyWithoutServer(t *testing.T) {
	l := echo(t)
	p, err := newProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, _ := io.ReadAll(c); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

func TestAlarm(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for _, d := range []time.Duration{0, -time.Hour, 30 * time.Microsecond, 3 * time.Millisecond} {
		due := time.Now().Add(d)
		if err := a.until(due); err != nil || time.Now().Before(due) {
			t.Errorf("%v: %v, %v early", d, err, time.Until(due))
		}
	}
}
