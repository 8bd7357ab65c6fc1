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
	timesRead    = 6 // times that one request reads them: more than socket buffers hold
	padding      = 70 << 10

	// stalledClients are more clients than requests with large bodies run at a time, on up to six cores.
	// They also hold two of the three places for long reads on SQLite.
	stalledClients = 4
)

// texts returns n queries of long texts, in a body with additional blanks.
func texts(n, blanks int) string {
	const one = `{"from":"Story","where":{"Name":"long"},"select":["Name","Description"]}`
	return "[" + strings.Repeat(" ", blanks) + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
}

// longStories creates the stories that texts reads.
func (s *site) longStories() []string {
	s.t.Helper()
	var all []any
	for range storiesOfMiB {
		all = append(all, map[string]any{"AssetType": "Story", "Name": "long", "Scope": "Scope:0", "Description": strings.Repeat("a", mib)})
	}
	return s.post(all)
}

// stall sends a request on a new connection, reads the first bytes of the answer and then stops reading.
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

// readRest reads the rest of an answer. It returns an error if the answer is cut off.
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

// answered fails the test if a request of the second member is not answered 200.
func (s *site) answered(t *testing.T, who, path, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	status, answer, err := s.ask(ctx, s.client, who, http.MethodPost, path, []byte(body))
	if err != nil || status != http.StatusOK {
		t.Errorf("the second member was answered %d %.200s %v", status, answer, err)
	}
}

// TestLargeAnswersNobodyTakes lets clients send requests with large bodies and not read their large
// answers. The server generates some answers while it sends them, and some before. The test guards against
// a client that keeps all other requests with large bodies waiting.
func TestLargeAnswersNobodyTakes(t *testing.T) {
	onEach(t, setup{short: "sqlite"}, func(t *testing.T, s *site) {
		s.longStories()
		second := s.member("second")
		paths := []string{"/query.v1", "/api/asset"}
		before := s.metric(t, inFlight)
		var all []net.Conn
		for i := range stalledClients {
			// A second long read of the same member would end its first.
			greedy := s.member(fmt.Sprintf("greedy%d", i))
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

// fewDBConns leaves longPlaces places for long reads. One member may use one of them.
const (
	fewDBConns = 15
	longPlaces = 2
)

// TestStalledReaders lets clients of several members read long answers that the server generates while it
// sends them. The clients stop reading when they hold all places for long reads. The test guards against
// long reads of all other members that are refused for minutes.
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
