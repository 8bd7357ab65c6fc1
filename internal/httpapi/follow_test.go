package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/limits/memory"
)

// script is a feed for tests. page returns the page with the number n; the first page has the
// number 1. A value in the channel moves announces a change.
type script struct {
	page  func(n int64) (feed.Page, error)
	moves chan struct{}
	n     atomic.Int64
}

// Page returns the next page and reserves its bytes in the memory of the request.
func (s *script) Page(ctx context.Context, _ auth.Actor, _ feed.Request) (feed.Page, error) {
	p, err := s.page(s.n.Add(1))
	if err == nil {
		err = memory.From(ctx).Take(p.Bytes)
	}
	return p, err
}

// Wait waits for a change.
func (s *script) Wait(ctx context.Context, _ int64) error {
	select {
	case <-s.moves:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// following is an API whose feed is a script.
type following struct {
	*API
	t       *testing.T
	url     string
	served  <-chan error
	log     bytes.Buffer
	metrics *prometheus.Registry
}

// counted checks the value of a metric.
func (f *following) counted(name string, want float64) {
	f.t.Helper()
	all, err := f.metrics.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, m := range all {
		if m.GetName() == name {
			if got := m.GetMetric()[0].GetGauge().GetValue() + m.GetMetric()[0].GetCounter().GetValue(); got != want {
				f.t.Errorf("%s is %v, want %v", name, got, want)
			}
			return
		}
	}
	f.t.Errorf("there is no %s", name)
}

func newFollowing(t *testing.T, s *script, set func(*API)) *following {
	t.Helper()
	if s.moves == nil {
		s.moves = make(chan struct{})
	}
	f := &following{t: t, metrics: prometheus.NewRegistry()}
	f.API = New(fixed(Engines{Credentials: engines{}, Changes: s, Audit: engines{}}), Options{Log: slog.New(slog.NewJSONHandler(&f.log, nil)), Metrics: f.metrics})
	f.refusalDelay = 0
	if set != nil {
		set(f.API)
	}
	f.url, f.served = listening(t, f.API)
	return f
}

// ask requests api/changes. If live is true, it asks for a live stream.
func (f *following) ask(params string, live bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.url+"/api/changes?"+params, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth("admin", "a:b")
	if live {
		req.Header.Set("Accept", "text/event-stream")
	}
	return http.DefaultClient.Do(req)
}

// waiting returns when the number of requests that wait for changes is want, and no request runs.
func (f *following) waiting(want int) {
	f.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		waiting, _ := f.followers.Load()
		running, _ := f.members.Load()
		if waiting == want && running == 0 {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("%d requests wait and %d run, want %d and none", waiting, running, want)
		}
	}
}

func nothing(int64) (feed.Page, error) { return feed.Page{Next: feed.Cursor{Position: 3}}, nil }

func one(n int64) feed.Page {
	next := feed.Cursor{Position: n, Moment: n}
	return feed.Page{Events: []feed.Event{{Text: fmt.Appendf(nil, `{"n":%d}`, n), Next: next}}, Next: next}
}

// TestLongPoll checks that the answer comes when there is an event, when the wait is over, and
// when the server stops.
func TestLongPoll(t *testing.T) {
	s := &script{page: func(n int64) (feed.Page, error) {
		if n == 4 || n == 5 {
			return one(n), nil
		}
		return nothing(n)
	}}
	f := newFollowing(t, s, nil)
	body := func(params string) string {
		t.Helper()
		resp, err := f.ask(params, false)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %v", params, resp.Status, err)
		}
		return string(text)
	}
	const empty = `{"events":[],"next":"3.0","more":false}`
	if got := body("wait=1"); got != empty {
		t.Errorf("after a second: %s", got)
	}
	go func() {
		f.waiting(1)
		s.moves <- struct{}{} // page 3 is empty
		f.waiting(1)
		s.moves <- struct{}{}
	}()
	if got := body("wait=60"); got != `{"events":[{"n":4}],"next":"4.4","more":false}` {
		t.Errorf("after two moves: %s", got)
	}
	f.counted("alds_httpapi_feed_events_total", 1)
	if got := body("wait=60"); got != `{"events":[{"n":5}],"next":"5.5","more":false}` {
		t.Errorf("when there is something: %s", got)
	}
	f.counted("alds_httpapi_feed_events_total", 2)
	go func() {
		f.waiting(1)
		_ = f.Shutdown(context.Background())
	}()
	if got := body("wait=60"); got != empty {
		t.Errorf("when the server stops: %s", got)
	}
	if err := <-f.served; err != nil {
		t.Error(err)
	}
}

// TestLiveStream checks the texts of a live stream: events with the position after them, a
// position alone for changes without events, and heartbeats while there are no changes.
func TestLiveStream(t *testing.T) {
	s := &script{page: func(n int64) (feed.Page, error) {
		switch n {
		case 1:
			return nothing(n)
		case 2:
			p := one(2)
			p.More = true
			return p, nil
		case 4:
			return feed.Page{Next: feed.Cursor{Position: 9}}, nil
		case 5:
			return feed.Page{}, fault.Deniedf("The rights of the member have changed")
		}
		return one(n), nil
	}}
	f := newFollowing(t, s, func(a *API) { a.heartbeat = 300 * time.Millisecond })
	resp, err := f.ask("after=0", true)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("Content-Type %q", ct)
	}
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(resp.Body, got)
		for beat := []byte(":\n\n"); err == nil && bytes.HasPrefix(got, beat) && want != string(beat); {
			n := copy(got, got[len(beat):]) // a heartbeat comes whenever the test takes long
			_, err = io.ReadFull(resp.Body, got[n:])
		}
		if err != nil || string(got) != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
	read("retry: 1000\nid: 3.0\n\n")
	f.waiting(1)
	f.counted("alds_httpapi_feed_readers_waiting", 1)
	f.counted("alds_httpapi_feed_events_total", 0)
	s.moves <- struct{}{}
	read("id: 2.2\ndata: {\"n\":2}\n\nid: 3.3\ndata: {\"n\":3}\n\n")
	read(":\n\n")
	f.counted("alds_httpapi_feed_events_total", 2)
	s.moves <- struct{}{}
	read("id: 9.0\n\n")
	s.moves <- struct{}{}
	if rest, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || strings.Trim(string(rest), ":\n") != "" {
		t.Errorf("without rights: %q, %v", rest, err)
	}
	f.waiting(0)
	f.counted("alds_httpapi_feed_readers_waiting", 0)
	if err := errors.Join(f.Shutdown(t.Context()), <-f.served); err != nil {
		t.Error(err)
	}
	if !strings.Contains(f.log.String(), `"broken_by":"rights"`) {
		t.Errorf("the log says:\n%s", f.log.String())
	}
}

// TestAQuietStreamTakesNoMemory checks that the memory of a page is free after the page has
// been sent.
func TestAQuietStreamTakesNoMemory(t *testing.T) {
	const size = 1000
	s := &script{page: func(n int64) (feed.Page, error) {
		p := one(n)
		p.Bytes = size
		return p, nil
	}}
	f := newFollowing(t, s, func(a *API) { a.heartbeat = time.Millisecond })
	resp, err := f.ask("after=0", true)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	read := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Fatalf("no %s: %v", want, lines.Err())
	}
	for n := 1; n <= 2; n++ {
		read(fmt.Sprintf(`data: {"n":%d}`, n))
		read(":") // a heartbeat
		if used, _ := f.memory.Used(); used != 0 {
			t.Errorf("%d bytes are taken after page %d", used, n)
		}
		if peak := f.memory.Peak(); peak != size {
			t.Errorf("page %d took %d bytes", n, peak)
		}
		if n == 1 {
			s.moves <- struct{}{}
		}
	}
	if err := errors.Join(f.Shutdown(t.Context()), <-f.served); err != nil {
		t.Error(err)
	}
}

// TestFollowersAreBounded checks the limit of waiting requests of one member. A waiting request
// uses no slot for the member's other requests. When a waiting request ends, another may begin.
func TestFollowersAreBounded(t *testing.T) {
	f := newFollowing(t, &script{page: nothing}, nil)
	var open []*http.Response
	for range maxMemberFollowers {
		resp, err := f.ask("", true)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		open = append(open, resp)
	}
	f.waiting(maxMemberFollowers)
	refused := func() bool {
		t.Helper()
		resp, err := f.ask("wait=1", false)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	}
	if !refused() {
		t.Error("one too many may wait")
	}
	if resp, err := f.ask("", false); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("a page without waiting: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	_ = open[0].Body.Close()
	f.waiting(maxMemberFollowers - 1)
	if refused() {
		t.Error("who has gone still counts")
	}
	if err := errors.Join(f.Shutdown(t.Context()), <-f.served); err != nil {
		t.Error(err)
	}
	for _, resp := range open[1:] {
		if rest, err := io.ReadAll(resp.Body); err != nil {
			t.Errorf("a stream ends with %q, %v when the server stops", rest, err)
		}
	}
}

// TestASlowReaderIsCutOff checks that a stream ends if its client reads nothing, and that few
// pages are read for it.
func TestASlowReaderIsCutOff(t *testing.T) {
	s := &script{page: func(n int64) (feed.Page, error) {
		p := one(n)
		p.Events[0].Text, p.More = bytes.Repeat([]byte("x"), 1<<20), true
		return p, nil
	}}
	f := newFollowing(t, s, func(a *API) { a.followWrite = 200 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /api/changes HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46YTpi\r\nAccept: text/event-stream\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for s.n.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	f.waiting(0)
	if n := s.n.Load(); n > 64 {
		t.Errorf("%d MiB were read for it", n)
	}
	if err := errors.Join(f.Shutdown(t.Context()), <-f.served); err != nil {
		t.Error(err)
	}
	if !strings.Contains(f.log.String(), `"broken_by":"client"`) {
		t.Errorf("the log says:\n%s", f.log.String())
	}
}
