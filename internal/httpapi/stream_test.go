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
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/query/find"
)

// part is one part of the streams in these tests.
var part = bytes.Repeat([]byte("x"), 100<<10)

// parts is a stream of n parts that then ends with err.
func parts(n int, err error) Stream {
	return func(_ context.Context, flush find.Flush) ([]byte, error) {
		var w []byte
		for range n {
			var gone error
			if w, gone = flush(append(w, part...)); gone != nil {
				return nil, gone
			}
		}
		return append(w, "end"...), err
	}
}

// streaming is an API that answers reads of rest-1.v1 with a stream.
type streaming struct {
	*API
	t       *testing.T
	url     string
	served  <-chan error
	log     bytes.Buffer
	metrics *prometheus.Registry
}

// newStreaming serves a stream. limit is the time limit of requests; wrap changes the log.
func newStreaming(t *testing.T, s Stream, limit time.Duration, wrap ...func(slog.Handler) slog.Handler) *streaming {
	t.Helper()
	st := &streaming{t: t, metrics: prometheus.NewRegistry()}
	var log slog.Handler = slog.NewJSONHandler(&st.log, nil)
	for _, w := range wrap {
		log = w(log)
	}
	st.API = New(fixed(Engines{Credentials: engines{}, Queries: engines{stream: s}, Audit: engines{}}), Options{
		Timeout: limit, Log: slog.New(log), Metrics: st.metrics,
	})
	st.url, st.served = listening(t, st.API)
	return st
}

func (s *streaming) get() *http.Response {
	s.t.Helper()
	resp, err := s.try()
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *streaming) try() (*http.Response, error) {
	req, _ := http.NewRequest(http.MethodGet, s.url+"/rest-1.v1/Data/Story", http.NoBody)
	req.SetBasicAuth("admin", "a:b")
	req.Close = true
	return http.DefaultClient.Do(req)
}

// ended waits until every request is recorded, and then checks the metrics. The metrics must count
// no running request, and one broken answer whose cause is the argument by. If by is empty, they
// must count no broken answer.
func (s *streaming) ended(by string) {
	s.t.Helper()
	if err := errors.Join(s.Shutdown(s.t.Context()), <-s.served); err != nil {
		s.t.Fatal(err)
	}
	for _, who := range []string{"client", "time", "rights", "server"} {
		want := 0.0
		if who == by {
			want = 1
		}
		if got := testutil.ToFloat64(s.m.broken.WithLabelValues(who)); got != want {
			s.t.Errorf("broken by %s: %v, want %v\n%s", who, got, want, s.log.String())
		}
	}
	if n := testutil.ToFloat64(s.m.inFlight); n != 0 {
		s.t.Errorf("%v requests are still counted as running", n)
	}
	if lines := strings.Count(s.log.String(), `"msg":"request"`); lines != 1 {
		s.t.Errorf("%d lines about one request:\n%s", lines, s.log.String())
	}
}

func TestStream(t *testing.T) {
	for _, n := range []int{0, 1, 40} {
		s := newStreaming(t, parts(n, nil), 0)
		resp := s.get()
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if want := strings.Repeat(string(part), n) + "end"; err != nil || string(got) != want {
			t.Errorf("%d parts: %d bytes, %v; want %d bytes", n, len(got), err, len(want))
		}
		if chunked := resp.ContentLength < 0; chunked != (n > 0) {
			t.Errorf("%d parts: Content-Length %d", n, resp.ContentLength)
		}
		s.ended("")
		if !strings.Contains(s.log.String(), fmt.Sprintf(`"sent_bytes":%d`, len(got))) {
			t.Errorf("%d parts: the line lacks the size: %s", n, s.log.String())
		}
	}
}

func TestStreamFailsInItsFirstPart(t *testing.T) {
	s := newStreaming(t, parts(0, fault.Invalidf(3, "Unknown AttributeDefinition: Story.X")), 0)
	resp := s.get()
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	wantFailure(t, "an error before the first part", string(body))
	s.ended("")
}

// TestStreamFailsLater checks that a client notices that its answer is incomplete.
func TestStreamFailsLater(t *testing.T) {
	for by, end := range map[string]Stream{
		"server": parts(3, errors.New("the database went away")),
		"time": func(ctx context.Context, flush find.Flush) ([]byte, error) {
			if _, err := flush(part); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		limit := time.Minute
		if by == "time" {
			limit = 50 * time.Millisecond
		}
		s := newStreaming(t, end, limit)
		resp, err := s.try()
		for by == "time" && err != nil && limit < time.Minute { // the time was over before the first part was sent
			limit *= 4
			s = newStreaming(t, end, limit)
			resp, err = s.try()
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || len(got) < len(part) {
			t.Errorf("broken by %s: status %d, %d bytes, then %v", by, resp.StatusCode, len(got), err)
		}
		s.ended(by)
		if by == "server" && !strings.Contains(s.log.String(), "the database went away") {
			t.Errorf("the log lacks the cause: %s", s.log.String())
		}
	}
}

func TestStreamPanics(t *testing.T) {
	s := newStreaming(t, func(_ context.Context, flush find.Flush) ([]byte, error) {
		_, _ = flush(part)
		panic("the engine broke")
	}, 0)
	resp := s.get()
	_, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ended with %v", err)
	}
	s.ended("server")
	if n := testutil.ToFloat64(s.m.panics); n != 1 {
		t.Errorf("%v panics counted", n)
	}
}

// TestStreamEndsWithItsClient checks that flush fails when the client has disconnected. Otherwise
// the engine of this test would run forever.
func TestStreamEndsWithItsClient(t *testing.T) {
	left := make(chan error, 1)
	s := newStreaming(t, func(_ context.Context, flush find.Flush) ([]byte, error) {
		w, err := flush(part)
		for err == nil {
			w, err = flush(append(w, part...))
		}
		left <- err
		return nil, err
	}, time.Hour)
	resp := s.get()
	if _, err := io.ReadFull(resp.Body, make([]byte, 2*len(part))); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := <-left; !errors.Is(err, errStopped) {
		t.Errorf("the engine ended with %v", err)
	}
	s.ended("client")
}

// TestStreamToHTTP10TakesMemory checks that an answer to HTTP/1.0, which has no chunks, must
// fit into the memory of one request: the whole answer is in memory.
func TestStreamToHTTP10TakesMemory(t *testing.T) {
	s := newStreaming(t, parts(64, nil), 0)
	s.memory = memory.NewBudget(int64(32 * len(part)))
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err = fmt.Fprintf(c, "GET /rest-1.v1/Data/Story HTTP/1.0\r\nAuthorization: Bearer 1.good\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if used, _ := s.memory.Used(); resp.StatusCode != http.StatusBadRequest || used != 0 {
		t.Errorf("answered %d, %d bytes are still taken", resp.StatusCode, used)
	}
	s.ended("")
}

func TestStreamToHTTP10HasALength(t *testing.T) {
	s := newStreaming(t, parts(3, nil), 0)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = fmt.Fprintf(c, "GET /rest-1.v1/Data/Story HTTP/1.0\r\nAuthorization: Bearer 1.good\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if want := int64(3*len(part) + 3); err != nil || resp.ContentLength != want || int64(len(got)) != want {
		t.Errorf("%d bytes of %d, %v; want %d", len(got), resp.ContentLength, err, want)
	}
	s.ended("")
}
