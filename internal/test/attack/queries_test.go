package attack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

const (
	// nested reads a member, the stories that the member owns, the owners of these stories, and so on for
	// two more levels.
	nested = `{"from":"Member","page":{"size":1},"filter":["Name='M1'"],"select":[{"from":"OwnedWorkitems:Story","select":[{"from":"Owners","select":[` +
		`{"from":"OwnedWorkitems:Story","select":[{"from":"Owners","select":[{"from":"OwnedWorkitems:Story","select":["Name"]}]}]}]}]}]}`

	// slow is a query that sorts every story by a sum. The sum is over the stories of all owners in the
	// project of the story.
	slow = `{"from":"Story","select":[],"sort":["Scope.Workitems:Story.Owners.OwnedWorkitems:Story.Estimate.@Sum"]}`

	// endless is like slow, but the sum is over more stories: the stories of every member who owns a story
	// together with one of these owners.
	endless = `{"from":"Story","select":[],"sort":["Scope.Workitems:Story.Owners.OwnedWorkitems:Story.Owners.OwnedWorkitems:Story.Estimate.@Sum"]}`

	owners = 20

	// longOfMember is how many long reads of one member may run statements at a time. Package db keeps 7 of
	// 40 connections for long reads, and one member may use half of the 7.
	longOfMember = 3
)

// agentPath is the path of calls of agents.
const agentPath = "/mcp"

// accept returns the header Accept of a request.
func accept(path string) string {
	if path == agentPath {
		return "application/json, text/event-stream"
	}
	return "application/json"
}

// agentCall returns a call of a tool for agents.
func agentCall(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

// busy creates stories with three owners each, the member greedy who attacks, and the other clients.
func (s *site) busy() (greedy string, o *others) {
	s.t.Helper()
	var people []any
	for i := range owners {
		people = append(people, map[string]any{"AssetType": "Member", "Name": fmt.Sprintf("M%d", i), "Nickname": fmt.Sprintf("M%d", i), "DefaultRole": "Role:4"})
	}
	members := s.post(people)
	made := s.stories(depth(1000, 2000), func(i int) []string {
		return []string{members[i%owners], members[(i+1+i/owners%5)%owners], members[(i+7+i/owners%5)%owners]}
	})
	greedy = s.member("greedy")
	return greedy, s.watch(made[0])
}

// TestQueries sends queries that use as much memory, as many connections or as much time as they can. It
// fails if a small query ends the process, or if one member or one request with many queries keeps all
// others waiting.
func TestQueries(t *testing.T) {
	onEach(t, setup{}, func(t *testing.T, s *site) {
		greedy, o := s.busy()
		c := from(attacker)
		many := "[" + strings.TrimSuffix(strings.Repeat(`{"from":"Story","select":["Name","Owners.Name","Scope.Name"]},`, 100), ",") + "]"
		for _, a := range []struct {
			name, path, body string
			clients          int
			turns            int // half of the reads must end before the attacker gets more turns than this
			lasts            time.Duration
			long             bool // only in the long tier
		}{
			{"one that is nested", "/query.v1", nested, 2, 4, 4 * time.Second, false},
			{"many in one request", "/query.v1", many, 2, 4, 4 * time.Second, false},
			// While a read waits, the queries that already run come to their end, and some clients then
			// send their query again. If the server did not alternate between members, all 240 queries
			// would run before the read.
			{"240 quick ones", "/query.v1", page, 240, min(4*recentRequests(), 120), 2 * time.Second, false},
			{"240 of agents", agentPath, agentCall("query", `{"from":"Story","select":["Name","Owners.Name"],"size":500}`), 240, min(4*recentRequests(), 120), 2 * time.Second, false},
			{"24 slow ones", "/query.v1", slow, 24, 24, 6 * time.Second, true},
		} {
			t.Run(a.name, func(t *testing.T) {
				if a.long && testing.Short() {
					t.Skip("long tier only: slow queries again and again; others come and go below")
				}
				var seen tally
				o.during(t, attack{memory: 512 * mib, seen: &seen, turns: a.turns, lasts: a.lasts, run: func(ctx context.Context, on func()) {
					asking := t.Context()
					if testing.Short() {
						asking = ctx // clients do not wait for answers after the attack
					}
					wait := flood(ctx, a.clients, 10*time.Millisecond, func(int, int) { s.query(asking, t, c, greedy, a.path, a.body, &seen) })
					if a.clients > 100 {
						seen.becomes(t, a.clients)
					}
					on()
					wait()
				}})
				seen.only(t, 200, 400, 503)
			})
		}
		t.Run("slow ones whose clients go", func(t *testing.T) { s.goAway(t, o, c, greedy) })
		c.CloseIdleConnections()
		o.settles()
		t.Run("one without an end", func(t *testing.T) { s.timeEnds(t, greedy) })
	})
}

// query sends a query once. In the long tier it fails the test if the answer comes more than one second
// after ALDS_REQUEST_TIMEOUT.
func (s *site) query(ctx context.Context, t *testing.T, c *http.Client, who, path, body string, seen *tally) {
	t.Helper()
	began := time.Now()
	status, _, err := s.ask(ctx, c, who, http.MethodPost, path, []byte(body))
	if ctx.Err() != nil {
		return
	}
	if err != nil && status == 0 {
		t.Errorf("no answer: %v", err)
	}
	seen.add(status)
	if took := time.Since(began); !testing.Short() && took > timeout()+time.Second {
		t.Errorf("%d came after %s", status, took.Round(time.Millisecond))
	}
}

// goAway sends slow queries from 24 clients. While these queries run, the other clients read, and members
// log in for the first time. Then the 24 clients disconnect, and the server must stop their queries.
func (s *site) goAway(t *testing.T, o *others, c *http.Client, greedy string) {
	t.Helper()
	late := depth(2, 5)
	var people []any
	for i := range late {
		people = append(people, person(fmt.Sprintf("late%d", i)))
	}
	s.post(people)
	gone, ended := s.metric(t, clientsGone), s.metric(t, killed)
	o.during(t, attack{memory: 512 * mib, most: metrics{longReads: longOfMember}, run: func(ctx context.Context, on func()) {
		asking, leave := context.WithCancel(t.Context())
		defer leave()
		var all sync.WaitGroup
		for range 24 {
			all.Go(func() { _, _, _ = s.ask(asking, c, greedy, http.MethodPost, "/query.v1", []byte(endless)) })
		}
		s.becomes(t, longWaiting, 1)
		on()
		s.runs(t)
		for i := range late {
			s.logIn(t, fmt.Sprintf("late%d", i))
		}
		leave()
		all.Wait()
		<-ctx.Done()
	}})
	s.rests(t)
	if n := s.metric(t, clientsGone) - gone; n == 0 {
		t.Error("nobody noticed that clients have gone")
	}
	if n := s.metric(t, killed) - ended; n == 0 && s.command == "api" {
		t.Error("no statement was ended at the server")
	}
}

// timeEnds restarts the process with a short ALDS_REQUEST_TIMEOUT and sends a query that takes longer. The
// answer must be 503.
func (s *site) timeEnds(t *testing.T, who string) {
	t.Helper()
	s.again("ALDS_REQUEST_TIMEOUT=2s")
	c := &http.Client{Timeout: giveUp, Transport: &http.Transport{}}
	status, answer, err := s.ask(t.Context(), c, who, http.MethodPost, "/query.v1", []byte(endless))
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("answered %d %.200s %v", status, answer, err)
	}
	s.rests(t)
}

// rests waits until no query of the disconnected clients runs in the database. It fails the test if that
// takes longer than giveUp, or in the long tier longer than three seconds.
func (s *site) rests(t *testing.T) {
	t.Helper()
	within := time.Duration(depth(int(giveUp), int(3*time.Second)))
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		held, running := s.metric(t, longReads), s.statements(t)
		if held == 0 && running == 0 {
			t.Logf("nothing runs %s later", time.Since(began).Round(100*time.Millisecond))
			return
		}
		if time.Since(began) > within {
			t.Fatalf("%v long reads are still held, %d slow statements still run", held, running)
		}
	}
}

// runs waits until a slow statement runs on the database server. It polls, because the server sends no
// event when a statement starts.
func (s *site) runs(t *testing.T) {
	t.Helper()
	if s.command != "api" {
		return // SQLite has no server
	}
	for end := time.Now().Add(giveUp); s.statements(t) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no slow statement is seen while they run")
		}
	}
}

// statements returns how many slow statements run on the server in the database of the site. It returns 0
// for SQLite. There a running statement holds a connection, and the metric longReads counts such
// connections.
func (s *site) statements(t *testing.T) (n int) {
	t.Helper()
	if s.command != "api" {
		return 0
	}
	d, err := db.Open(t.Context(), s.database, db.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.QueryRow(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command IN ('Query', 'Execute') AND info LIKE '%SUM(%' AND id <> CONNECTION_ID()").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// logIn logs a member in for the first time. It fails the test if that fails, or in the long tier takes
// longer than a second.
func (s *site) logIn(t *testing.T, name string) {
	t.Helper()
	began := time.Now()
	status, answer, err := s.ask(t.Context(), s.client, name+":"+passwordOf(name), http.MethodPost, "/query.v1", []byte(cheapest))
	if took := time.Since(began); err != nil || status != http.StatusOK || !testing.Short() && took > time.Second {
		t.Errorf("%s: %d after %s: %.200s %v", name, status, took, answer, err)
	}
}
