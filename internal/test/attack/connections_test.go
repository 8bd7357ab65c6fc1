package attack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// open makes n connections of the attacker and writes greet(i) on the i-th. It returns the connections that
// the server accepted, and keeps them open until hangUp or the end of the test.
func (s *site) open(n int, greet func(i int) string) []net.Conn {
	s.t.Helper()
	s.t.Cleanup(s.hangUp)
	var all []net.Conn
	for i := range n {
		c, err := s.dial()
		if err != nil {
			continue // the server may refuse the connection
		}
		all = append(all, c)
		_, _ = io.WriteString(c, greet(i)) // the server may have closed the connection
	}
	s.opened = append(s.opened, all...)
	if len(all) < n/2 {
		s.t.Fatalf("only %d of %d connections", len(all), n)
	}
	return all
}

// hangUp closes the connections of the attacker.
func (s *site) hangUp() {
	for _, c := range s.opened {
		_ = c.Close()
	}
	s.opened = nil
}

// flood starts goroutines, as many as senders. Each calls do again and again until ctx ends, but at least
// once, and waits for the duration pause between two calls. wait returns when all goroutines have stopped.
func flood(ctx context.Context, senders int, pause time.Duration, do func(sender, n int)) (wait func()) {
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			do(i, 0)
			for n := 1; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-time.After(pause):
				}
				do(i, n)
			}
		})
	}
	return sending.Wait
}

const (
	fewFiles = 200 // most file descriptors of a process that gets a flood of connections

	// fewConns is how many connections a process with fewFiles descriptors may hold. One address may use a
	// quarter of the free descriptors. The number leaves room for as many connections from other addresses.
	// Without a limit per address there would be more than a hundred connections.
	fewConns = 60
)

// TestConnectionFlood opens more connections than the process has file descriptors. On some it sends
// nothing, on some it sends the request line or the headers byte by byte, and some are idle after a
// request. It fails if these connections use up the descriptors or keep other clients waiting.
func TestConnectionFlood(t *testing.T) {
	onEach(t, setup{files: fewFiles, short: "sqlite"}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		o.during(t, attack{memory: 200 * mib, lasts: 4 * time.Second, most: metrics{connections: fewConns}, run: s.crowd})
		if m, err := s.metrics(t.Context(), s.client); err != nil || m[refusedShort] != 0 {
			t.Errorf("%v times there was no descriptor; %v", m[refusedShort], err)
		}
	})
}

// crowd opens 300 connections, and sends slow headers on every fourth connection.
func (s *site) crowd(ctx context.Context, on func()) {
	all := s.open(300, func(i int) string {
		return []string{
			"",
			"GET /alds/query.v1 HT",
			"GET /alds/query.v1 HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
			"GET /alds/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n",
		}[i%4]
	})
	on()
	flood(ctx, 1, 100*time.Millisecond, func(int, int) { // sends the slow headers
		for i, c := range all {
			if i%4 == 2 {
				_, _ = io.WriteString(c, "x") // the server may have closed the connection
			}
		}
	})()
}

// TestDescriptorsRunOut sets a limit on connections that is too high, so that connections use up all file
// descriptors. The process must stay alive and answer again after the connections are closed.
func TestDescriptorsRunOut(t *testing.T) {
	settings := []string{"ALDS_MAX_CONNS=4000", "ALDS_MAX_CONNS_PER_ADDRESS=4000"}
	onEach(t, setup{files: 120, settings: settings, short: "mysql"}, func(t *testing.T, s *site) {
		all := s.open(300, func(int) string { return "" })
		for end := time.Now().Add(giveUp); !strings.Contains(s.log.String(), "no connection can be accepted"); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it lacks no descriptor")
			}
		}
		if !testing.Short() {
			time.Sleep(2 * time.Second) // no descriptor is free during this time
		}
		s.proc.MustRun()
		for _, c := range all {
			_ = c.Close()
		}
		began := time.Now()
		within := time.Duration(depth(int(giveUp), int(5*time.Second)))
		c := &http.Client{Timeout: within, Transport: &http.Transport{DisableKeepAlives: true}}
		for {
			status, _, err := s.ask(t.Context(), c, "admin:"+adminPassword, http.MethodPost, "/query.v1", []byte(cheapest))
			if err == nil && status == http.StatusOK {
				break
			}
			if time.Since(began) > within {
				t.Fatalf("it does not answer again: %d %v", status, err)
			}
		}
		t.Logf("answered %s after the connections were closed", time.Since(began).Round(time.Millisecond))
		s.proc.MustRun()
	})
}

// TestSlowHeadersEnd checks that the headers of a request must arrive within their time limit, even if the
// client keeps sending bytes.
func TestSlowHeadersEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite", setup{})
	c, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	ended := make(chan string, 1)
	go func() {
		_ = c.SetReadDeadline(time.Now().Add(giveUp))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			ended <- err.Error()
			return
		}
		res.Body.Close()
		ended <- fmt.Sprint(res.StatusCode)
	}()
	for text := "GET /alds/query.v1 HTTP/1.1\r\nHost: localhost\r\nX-Slow: "; ; text = "x" {
		_, _ = io.WriteString(c, text) // the server may have closed the connection
		select {
		case how := <-ended:
			if took := time.Since(began); how != "408" || !testing.Short() && took > 15*time.Second {
				t.Errorf("answered %s after %s", how, took)
			}
			return
		case <-time.After(250 * time.Millisecond):
		}
	}
}
