package attack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	storiesOfMiB = 4 // stories with a text of one MiB
	timesRead    = 6 // how often one request reads them: more than sockets hold
	padding      = 70 << 10

	// stalledClients hold more answers than requests with large bodies run, with up to six
	// cores, and two of the three places among the long reads of SQLite.
	stalledClients = 4
)

// texts are queries of long texts, as often as n says, in a body with some blanks.
func texts(n, blanks int) string {
	const one = `{"from":"Story","where":{"Name":"long"},"select":["Name","Description"]}`
	return "[" + strings.Repeat(" ", blanks) + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
}

// longStories makes the stories that texts reads.
func (s *site) longStories() []string {
	s.t.Helper()
	var all []any
	for range storiesOfMiB {
		all = append(all, map[string]any{"AssetType": "Story", "Name": "long", "Scope": "Scope:0", "Description": strings.Repeat("a", mib)})
	}
	return s.post("/api/asset", all)
}

// stall sends a request on a connection of its own, and reads the first bytes of the
// answer and nothing more.
func (s *site) stall(t *testing.T, who, path, body string) net.Conn {
	t.Helper()
	c, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(giveUp))
	if _, err := fmt.Fprintf(c, "POST /alds%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, basic(who), len(body), body); err != nil {
		t.Fatal(err)
	}
	const ok = "HTTP/1.1 200 OK"
	head := make([]byte, len(ok))
	if _, err := io.ReadFull(c, head); err != nil || string(head) != ok {
		t.Fatalf("%q %v", head, err)
	}
	return c
}

// readRest reads what is left of an answer. Errors: that the answer has no end.
func readRest(c net.Conn) error {
	_ = c.SetDeadline(time.Now().Add(giveUp))
	res, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader("HTTP/1.1 200 OK"), c)), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil {
		return fmt.Errorf("after %d bytes: %w", n, err)
	}
	return nil
}

// answered fails the test when a request of the second member is not answered 200.
func (s *site) answered(t *testing.T, who, path, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	status, answer, err := s.ask(ctx, s.client, who, http.MethodPost, path, []byte(body))
	if err != nil || status != http.StatusOK {
		t.Errorf("the second member was answered %d %.200s %v", status, answer, err)
	}
}

// TestLargeAnswersNobodyTakes: clients send requests with large bodies and do not take
// their large answers, some of which are made while they are sent, and some before.
// Issue: one such client keeps all other requests with large bodies waiting.
func TestLargeAnswersNobodyTakes(t *testing.T) {
	onEach(t, setup{short: "sqlite"}, func(t *testing.T, s *site) {
		s.longStories()
		second := s.member("second")
		paths := []string{"/query.v1", "/api/asset"}
		before := s.metric(t, inFlight)
		var all []net.Conn
		for i := range stalledClients {
			greedy := s.member(fmt.Sprintf("greedy%d", i)) // of one, the second long read would end the first
			all = append(all, s.stall(t, greedy, paths[i%len(paths)], texts(timesRead, padding)))
		}
		for _, path := range paths {
			s.answered(t, second, path, texts(1, padding))
		}
		if n := s.metric(t, inFlight) - before; int(n) < len(all) {
			t.Errorf("%v answers are being sent, %d are not taken", n, len(all))
		}
		for i, c := range all {
			if err := readRest(c); err != nil {
				t.Errorf("client %d, which reads its answer at last: %v", i, err)
			}
		}
		s.proc.MustRun()
	})
}

// fewDBConns leaves longPlaces places among the long reads, of which one member may have one.
const (
	fewDBConns = 15
	longPlaces = 2
)

// TestStalledReaders: clients of several members read long answers that are made while
// they are sent, and stop, until they have all places among the long reads. Issue: the long
// reads of everybody else are refused, for minutes.
func TestStalledReaders(t *testing.T) {
	onEach(t, setup{settings: []string{fmt.Sprintf("ALDS_DB_CONNS=%d", fewDBConns)}, short: "mysql"}, func(t *testing.T, s *site) {
		s.longStories()
		second := s.member("second")
		var all []net.Conn
		for i := range longPlaces {
			all = append(all, s.stall(t, s.member(fmt.Sprintf("greedy%d", i)), "/query.v1", texts(timesRead, 0)))
		}
		for range depth(3, 10) {
			s.answered(t, second, "/query.v1", texts(1, 0))
		}
		whole := 0
		for _, c := range all {
			if readRest(c) == nil {
				whole++
			}
		}
		t.Logf("%d of %d answers that were not taken are whole", whole, len(all))
		if whole == len(all) {
			t.Error("no answer that was not taken made room")
		}
		s.proc.MustRun()
	})
}
