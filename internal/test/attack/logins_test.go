package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// cheapest is a query that needs little time compared with the check of a password.
const cheapest = `{"from":"Scope","select":["Name"]}`

// TestLoginFlood tries unknown usernames, and wrong passwords for one username. Some attempts come from the
// address of the members, as if all clients used a proxy that is not in ALDS_TRUSTED_PROXIES. Nobody may be
// locked out: other members and the owner of the username must be able to log in for the first time.
func TestLoginFlood(t *testing.T) {
	onEach(t, setup{short: "sqlite"}, func(t *testing.T, s *site) {
		o := s.watch(s.stories(200, nil)[0])
		members := depth(5, 15)
		people := []any{person("owner")}
		for i := range members {
			people = append(people, person(fmt.Sprintf("member%d", i)))
		}
		s.post(people)
		near, far := from("127.0.0.1"), from(attacker)
		var seen tally
		o.during(t, attack{memory: 256 * mib, lasts: 2 * time.Second, run: func(ctx context.Context, on func()) {
			wait := flood(ctx, depth(120, 60), 50*time.Millisecond, func(i, n int) {
				c, who := near, fmt.Sprintf("nobody-%d-%d:x", i, n)
				if i%3 == 0 {
					c, who = far, fmt.Sprintf("owner:wrong-%d-%d", i, n)
				}
				status, _, _ := s.ask(t.Context(), c, who, http.MethodPost, "/query.v1", []byte(cheapest))
				seen.add(status)
			})
			s.becomes(t, hashes, s.metric(t, hashes)+3)
			on()
			for i := range members {
				s.mustLogIn(t, near, fmt.Sprintf("member%d", i))
			}
			s.mustLogIn(t, near, "owner")
			s.mustLogIn(t, near, "owner") // the server has checked the password before
			wait()
		}})
		near.CloseIdleConnections()
		far.CloseIdleConnections()
		seen.only(t, 401, 429, 503) // 503: the check of a wrong password waits longer than a request may take
	})
}

// maxHashes is how many passwords the server may check while a member logs in for the first time. These are
// the checks that already run on half of the cores, one check of the flood, and the check of the member. 30
// more checks may run between the reading of the metric and the request. If logins did not alternate
// between addresses and usernames, the server would first check all 64 waiting passwords.
func maxHashes() float64 { return float64(max(1, runtime.GOMAXPROCS(0)/2) + 30) }

// mustLogIn logs a member in for the first time during a flood.
func (s *site) mustLogIn(t *testing.T, c *http.Client, name string) {
	t.Helper()
	before, began := s.metric(t, hashes), time.Now()
	status, answer, err := s.ask(t.Context(), c, name+":"+passwordOf(name), http.MethodPost, "/query.v1", []byte(cheapest))
	for try := 1; testing.Short() && err == nil && status == http.StatusTooManyRequests && try < 5; try++ {
		before = s.metric(t, hashes) // on a busy machine a check may take so long that the login is refused
		status, answer, err = s.ask(t.Context(), c, name+":"+passwordOf(name), http.MethodPost, "/query.v1", []byte(cheapest))
	}
	took := time.Since(began)
	checked := s.metric(t, hashes) - before
	t.Logf("%s: %v passwords were checked meanwhile", name, checked)
	if err != nil || status != http.StatusOK {
		t.Errorf("%s: %d %.200s %v", name, status, answer, err)
	}
	if checked > maxHashes() {
		t.Errorf("%s waited for the checks of %v passwords, allowed are %v", name, checked, maxHashes())
	}
	if !testing.Short() && took > 8*time.Second {
		t.Errorf("%s: after %s", name, took)
	}
}

const (
	guessedNames  = 8
	innocentNames = 12
)

// maxInnocentHashes is how many passwords the server may check until all innocent members are logged in:
// maxHashes, one guess for each guessed username, and the check of each innocent member. If logins did not
// alternate between usernames, the server would first check all 256 waiting passwords.
func maxInnocentHashes() float64 { return maxHashes() + guessedNames + innocentNames }

// TestGuessesFromManyAddresses guesses passwords of some members through a trusted proxy. Each guess comes
// from a different address, and there are more guesses at a time than logins that may wait. Nobody may be
// locked out: other members log in for the first time, and all of them must succeed.
func TestGuessesFromManyAddresses(t *testing.T) {
	onEach(t, setup{settings: []string{"ALDS_TRUSTED_PROXIES=" + attacker}, short: "sqlite"}, func(t *testing.T, s *site) {
		var people []any
		for i := range guessedNames {
			people = append(people, person(fmt.Sprintf("known%d", i)))
		}
		for i := range innocentNames {
			people = append(people, person(fmt.Sprintf("innocent%d", i)))
		}
		s.post(people)
		proxy := from(attacker)
		var seen tally
		ctx, stop := context.WithCancel(t.Context())
		wait := flood(ctx, depth(300, 700), 200*time.Millisecond, func(i, n int) {
			who := fmt.Sprintf("known%d:guess %d of %d", i%guessedNames, n, i)
			seen.add(s.forwarded(ctx, proxy, fmt.Sprintf("10.%d.%d.%d", n%250, i/250, i%250), who))
		})
		s.becomes(t, slowedLogins, 1) // more logins wait than the limit allows
		before := s.metric(t, hashes)
		var innocent sync.WaitGroup
		for i := range innocentNames {
			innocent.Go(func() { s.letIn(t, fmt.Sprintf("innocent%d", i)) })
		}
		innocent.Wait()
		checked := s.metric(t, hashes) - before
		t.Logf("%v passwords were checked until all were let in", checked)
		if checked > maxInnocentHashes() {
			t.Errorf("they waited for the checks of %v passwords, allowed are %v", checked, maxInnocentHashes())
		}
		stop()
		wait()
		proxy.CloseIdleConnections()
		seen.only(t, noAnswer, 401, 429, 503)
		s.proc.MustRun()
	})
}

// forwarded logs in through the proxy, as a client with the given address, and returns the status.
func (s *site) forwarded(ctx context.Context, proxy *http.Client, address, who string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url("/query.v1"), strings.NewReader(cheapest))
	if err != nil {
		panic(err)
	}
	name, password, _ := strings.Cut(who, ":")
	req.SetBasicAuth(name, password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", address)
	res, err := proxy.Do(req)
	if err != nil {
		return noAnswer
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// letIn logs a member in for the first time. On a busy machine the login may time out before the server has
// checked enough passwords. Then letIn tries again.
func (s *site) letIn(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(5 * giveUp); ; {
		status, answer, err := s.ask(t.Context(), s.client, name+":"+passwordOf(name), http.MethodPost, "/query.v1", []byte(cheapest))
		switch {
		case err == nil && status == http.StatusOK:
			return
		case err != nil, status != http.StatusTooManyRequests, time.Now().After(end):
			t.Errorf("%s: %d %.200s %v", name, status, answer, err)
			return
		}
	}
}
