package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

const (
	// nested reads what everybody owns who owns what somebody owns.
	nested = `{"from":"Member","page":{"size":1},"filter":["Name='M1'"],"select":[{"from":"OwnedWorkitems:Story","select":[{"from":"Owners","select":[` +
		`{"from":"OwnedWorkitems:Story","select":[{"from":"Owners","select":[{"from":"OwnedWorkitems:Story","select":["Name"]}]}]}]}]}]}`

	// slow sorts every story by a sum over the stories of all owners in its project.
	slow = `{"from":"Story","select":[],"sort":["Scope.Workitems:Story.Owners.OwnedWorkitems:Story.Estimate.@Sum"]}`

	stories = 2000
	owners  = 20
	timeout = 5 * time.Second // ALDS_REQUEST_TIMEOUT of the sites here
)

// busySite has stories with three owners each, and a greedy member.
func busySite(t *testing.T, dialect string) (s *site, greedy string, o *others) {
	t.Helper()
	s = newSite(t, dialect, setup{})
	var people []any
	for i := range owners {
		people = append(people, map[string]any{"AssetType": "Member", "Name": fmt.Sprintf("M%d", i), "Nickname": fmt.Sprintf("M%d", i), "DefaultRole": "Role:4"})
	}
	members := s.post("/api/asset", people)
	made := s.stories(stories, func(i int) []string {
		return []string{members[i%owners], members[(i+1+i/owners%5)%owners], members[(i+7+i/owners%5)%owners]}
	})
	greedy = s.member("greedy")
	return s, greedy, s.watch(made[0])
}

// TestQueries sends what takes all memory, all connections or all time. Issue:
// one small query ends the process; one member starves the rest; many queries in
// one request.
func TestQueries(t *testing.T) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			s, greedy, o := busySite(t, dialect)
			c := from(attacker)
			t.Run("one that is nested", func(t *testing.T) {
				o.during(t, 512*mib, func() { s.repeat(t, c, greedy, "/query.v1", nested, 2, 4*time.Second, 200, 400, 503) })
			})
			t.Run("many in one request", func(t *testing.T) {
				all := "[" + strings.TrimSuffix(strings.Repeat(`{"from":"Story","select":["Name","Owners.Name","Scope.Name"]},`, 100), ",") + "]"
				o.during(t, 512*mib, func() { s.repeat(t, c, greedy, "/query.v1", all, 2, 4*time.Second, 200, 400, 503) })
			})
			t.Run("24 slow ones", func(t *testing.T) {
				o.during(t, 512*mib, func() { s.repeat(t, c, greedy, "/query.v1", slow, 24, 6*time.Second, 200, 400, 503) })
			})
			t.Run("slow ones whose clients go", func(t *testing.T) {
				o.during(t, 512*mib, func() {
					var asking sync.WaitGroup
					asking.Go(func() { s.abandon(c, greedy, 24) })
					if s.command == "api" && !s.runs(t) {
						t.Error("no slow statement is seen while they run")
					}
					asking.Wait()
				})
				s.rests(t)
			})
			t.Run("first logins beside slow ones", func(t *testing.T) { s.loginsBeside(t, c, greedy) })
			c.CloseIdleConnections()
			o.settles()
		})
	}
}

// repeat asks with several clients for a time. Each answer must come within the
// time of a request, or a second more, with one of the statuses.
func (s *site) repeat(t *testing.T, c *http.Client, who, path, body string, clients int, lasting time.Duration, allowed ...int) {
	t.Helper()
	var seen tally
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			for end := time.Now().Add(lasting); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				began := time.Now()
				status, _, err := s.ask(t.Context(), c, who, http.MethodPost, path, []byte(body))
				if err != nil && status == 0 {
					t.Errorf("no answer: %v", err)
				}
				seen.add(status)
				if took := time.Since(began); took > timeout+time.Second {
					t.Errorf("%d came after %s", status, took.Round(time.Millisecond))
				}
			}
		})
	}
	asking.Wait()
	seen.only(t, allowed...)
}

// abandon asks for what is slow and does not wait for the answers.
func (s *site) abandon(c *http.Client, who string, clients int) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
	defer cancel()
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() { _, _, _ = s.ask(ctx, c, who, http.MethodPost, "/query.v1", []byte(slow)) })
	}
	asking.Wait()
}

// rests fails the test when reads still run in the database three seconds after
// their clients have gone.
func (s *site) rests(t *testing.T) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		held, running := s.metric(t, `alds_app_db_pool_in_use{pool="long"}`), s.statements(t)
		if held == "0" && running == 0 {
			t.Logf("nothing runs %s later", time.Since(began).Round(100*time.Millisecond))
			return
		}
		if time.Since(began) > 3*time.Second {
			t.Fatalf("%s long reads are still held, %d slow statements still run", held, running)
		}
	}
}

// runs reports whether a slow statement is seen within two seconds. The server tells
// nobody when one begins, so it is asked again and again.
func (s *site) runs(t *testing.T) bool {
	t.Helper()
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s.statements(t) > 0 {
			return true
		}
	}
	return false
}

// statements asks the server how many slow statements run in the database of the
// site; SQLite has none but those that hold a connection.
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

// metric is the value of a metric, written as it stands in /metrics.
func (s *site) metric(t *testing.T, name string) string {
	t.Helper()
	res, err := http.Get(strings.TrimSuffix(s.health, "/healthz") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no metric %s", name)
	return ""
}

// loginsBeside logs members in for the first time while one member's reads last.
func (s *site) loginsBeside(t *testing.T, c *http.Client, greedy string) {
	t.Helper()
	var people []any
	for i := range 5 {
		people = append(people, person(fmt.Sprintf("late%d", i)))
	}
	s.post("/api/asset", people)
	var asking sync.WaitGroup
	asking.Go(func() { s.abandon(c, greedy, 24) })
	time.Sleep(300 * time.Millisecond)
	for i := range 5 {
		began := time.Now()
		name := fmt.Sprintf("late%d", i)
		status, answer, err := s.ask(t.Context(), s.client, name+":"+passwordOf(name), http.MethodPost, "/query.v1", []byte(`{"from":"Scope","select":["Name"]}`))
		if took := time.Since(began); err != nil || status != http.StatusOK || took > time.Second {
			t.Errorf("%s: %d after %s: %.200s %v", name, status, took, answer, err)
		}
	}
	asking.Wait()
}
