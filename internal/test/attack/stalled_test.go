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
	storiesOfMiB = 4 // stories with a text of one MiB, which each of the tests creates
	timesRead    = 6 // how often one request reads these stories: the answer is larger than the socket buffers
	padding      = 70 << 10

	// stalledClients is how many clients stop reading. On machines with up to six cores, fewer requests
	// with large bodies may run at a time. On SQLite the clients also hold two of the three places for long
	// reads.
	stalledClients = 4
)

// texts returns the JSON of n queries that read the stories with long texts. blanks is the number of spaces
// added to the body.
func texts(n, blanks int) string {
	const one = `{"from":"Story","where":{"Name":"long"},"select":["Name","Description"]}`
	return "[" + strings.Repeat(" ", blanks) + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
}

// longStories creates the stories with long texts and returns their Oids.
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

// readRest reads the rest of the answer. It returns an error if the answer is not complete.
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

// answered sends a request and fails the test if the answer is not 200. The parameter who is the sender, as
// "name:password".
func (s *site) answered(t *testing.T, who, path, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUp)
	defer cancel()
	status, answer, err := s.ask(ctx, s.client, who, http.MethodPost, path, []byte(body))
	if err != nil || status != http.StatusOK {
		t.Errorf("the second member was answered %d %.200s %v", status, answer, err)
	}
}

// TestLargeAnswersNobodyTakes lets clients send requests with large bodies and then not read their large
// answers. The server sends some of the answers while it generates them. It generates other answers
// completely before it sends them. The test fails if such clients keep all other requests with large bodies
// waiting.
func TestLargeAnswersNobodyTakes(t *testing.T) {
	onEach(t, setup{short: "sqlite"}, func(t *testing.T, s *site) {
		s.longStories()
		second := s.member("second")
		paths := []string{"/query.v1", "/api/asset"}
		before := s.metric(t, inFlight)
		var all []net.Conn
		for i := range stalledClients {
			// Each client is a different member, because a second long read of a member would end the
			// first.
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

// With fewDBConns connections to the database, longPlaces long reads may run at a time, at most one per
// member.
const (
	fewDBConns = 15
	longPlaces = 2
)

// TestStalledReaders lets a client of each of several members read a long answer that the server sends
// while it generates it. The clients stop reading when they hold all places for long reads. The test fails
// if the long reads of all other members are then refused for minutes.
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
