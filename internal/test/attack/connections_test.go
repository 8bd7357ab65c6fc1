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

// open makes connections of the attacker and says on each what greet writes. It
// keeps them until hangUp or the end of the test, and returns those that were taken.
func (s *site) open(n int, greet func(i int) string) []net.Conn {
	s.t.Helper()
	s.t.Cleanup(s.hangUp)
	var all []net.Conn
	for i := range n {
		c, err := s.dial()
		if err != nil {
			continue // which a bound may do
		}
		all = append(all, c)
		_, _ = io.WriteString(c, greet(i)) // it may be closed already
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

// flood lets senders do something again and again until ctx ends, at least once each,
// with a pause in between. wait returns when all have ended.
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
	fewFiles = 200 // descriptors of a process that is flooded with connections

	// fewConns is how many connections a process with as many descriptors may have
	// from one address, a quarter of what they leave, and as many from elsewhere.
	// With no bound of an address there would be a hundred and more.
	fewConns = 60
)

// TestConnectionFlood holds more connections than the process has descriptors:
// silent ones, some whose request line or headers come by the byte, some that
// are idle after a request. Issue: descriptors; slow headers.
func TestConnectionFlood(t *testing.T) {
	onEach(t, setup{files: fewFiles, short: "sqlite"}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		o.during(t, attack{memory: 200 * mib, lasts: 4 * time.Second, most: metrics{connections: fewConns}, run: s.crowd})
		if m, err := s.metrics(t.Context(), s.client); err != nil || m[refusedShort] != 0 {
			t.Errorf("%v times there was no descriptor; %v", m[refusedShort], err)
		}
	})
}

// crowd opens 300 connections and keeps some of them busy.
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
	flood(ctx, 1, 100*time.Millisecond, func(int, int) { // of slow headers
		for i, c := range all {
			if i%4 == 2 {
				_, _ = io.WriteString(c, "x") // it may be closed already
			}
		}
	})()
}

// TestDescriptorsRunOut lets connections take every descriptor, by a bound that
// is set too high. The process goes on, and answers again once they are closed.
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
			time.Sleep(2 * time.Second) // it goes on lacking them
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

// TestSlowHeadersEnd says that a request line must come within its time,
// whatever the attacker does to keep it going.
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
		_, _ = io.WriteString(c, text) // it may be closed already
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
