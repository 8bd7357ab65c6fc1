package jobs

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// lineWriter sends each line of a log to a channel.
type lineWriter chan string

// Write sends a line.
func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}

// next returns the next logged line.
func (w lineWriter) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-w:
		return line
	case <-time.After(time.Minute):
		t.Fatal("nothing is logged")
		return ""
	}
}

// TestARedisThatIsMissingIsToldOnce starts without Redis. The missing Redis must be logged only
// once, although a worker connects to it all the time. When Redis answers again, this must also be
// logged once.
func TestARedisThatIsMissingIsToldOnce(t *testing.T) {
	t.Parallel()
	attempts := 60
	if testing.Short() {
		attempts = 20
	}
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := refusing.Addr().String()
	asked := make(chan struct{})
	go func() {
		for {
			c, err := refusing.Accept()
			if err != nil {
				return
			}
			c.Close()
			asked <- struct{}{}
		}
	}()
	log := make(lineWriter, 1000)
	q, err := Open("redis://:hush@"+addr, slog.New(slog.NewTextHandler(log, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- NewWorker(q, newFakeWork(), newFakeWork()).Run(ctx) }()
	go func() { ended <- q.Watch(ctx) }()
	defer func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}()
	first := ""
	for n := 0; n < attempts || first == ""; { // connections of Watch, the task servers and readHints
		select {
		case <-asked:
			n++
		case line := <-log:
			if first != "" {
				t.Errorf("logged besides: %s", line)
			}
			first = line
		}
	}
	if !strings.Contains(first, "level=ERROR") || !strings.Contains(first, "Redis does not answer") || strings.Contains(first, "hush") {
		t.Errorf("the outage: %s", first)
	}
	go func() { // receives the connections that were accepted before Close
		for range asked {
		}
	}()
	refusing.Close()
	server := miniredis.NewMiniRedis()
	server.RequireAuth("hush")
	if err := server.StartAddr(addr); err != nil {
		t.Fatal(err)
	}
	if line := log.next(t); !strings.Contains(line, "level=INFO") || !strings.Contains(line, "Redis answers again") {
		t.Errorf("the return: %s", line)
	}
	server.Close()
	for line := log.next(t); !strings.Contains(line, "level=ERROR"); line = log.next(t) {
		if !strings.Contains(line, "level=WARN") { // a task may fail before Watch notices the outage
			t.Errorf("the second outage: %s", line)
		}
	}
}

// TestNoFragmentOfAPasswordIsInAnError checks the errors of Open and Ping for all kinds of
// addresses. No error may contain a part of the password.
func TestNoFragmentOfAPasswordIsInAnError(t *testing.T) {
	t.Parallel()
	const password = "1Kx7@Qv9w:Lm3p/Zt5r#Bn8y%Wd2k?Hj6s Pc4f"
	server := miniredis.RunT(t)
	server.RequireAuth("another")
	for _, address := range []string{
		"redis://127.0.0.1:1", "redis://nobody.invalid", "redis://" + server.Addr(), "rediss://" + server.Addr(),
		"redis+sentinel://127.0.0.1:1,127.0.0.1:2/main", "redis+cluster://127.0.0.1:1,127.0.0.1:2",
		"redis+cluster://" + server.Addr(), "redis://127.0.0.1/none", "redis+sentinel://127.0.0.1", "http://127.0.0.1",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("default", password)
		q, err := Open(u.String(), nil, nil)
		if err == nil {
			err = q.pingWithin(t.Context(), time.Second)
			q.Close()
		}
		if err == nil {
			t.Errorf("%s: no error", address)
			continue
		}
		text := err.Error()
		for _, written := range []string{password, url.QueryEscape(password), url.PathEscape(password)} {
			for i := range len(written) - 3 {
				if part := written[i : i+4]; strings.Contains(text, part) {
					t.Errorf("%s shows %q: %s", address, part, text)
				}
			}
		}
	}
}
