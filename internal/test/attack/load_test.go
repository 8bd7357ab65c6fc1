package attack

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// The flags of TestHeavyAsynchronousRequests.
var (
	loadFor   = flag.Duration("attack.load", 2*time.Minute, "how long members are timed beside the requests, at most, and a fifth of it in quiet")
	loadLimit = flag.Duration("attack.limit", 15*time.Second, "longest time of one request and of one write transaction")
)

const (
	heavyRequests = 60
	heavyMembers  = 3 // members who send heavy requests

	// The request createsMany creates manyStories stories with the name veryMany.
	manyStories = 20_000
	veryMany    = "one of very many"
	createsMany = "twenty thousand stories"

	// modestName is the name of one request that another member sends after the heavy requests. At most
	// modestTurns heavy requests may end before this request ends. A worker takes some requests in the
	// order of the queue. It takes the other requests from each member in turn.
	modestName  = "one story of another member"
	modestTurns = 4 * (heavyMembers + 1)

	// heavyTries is how often the service executes a request that takes too long.
	heavyTries = 2

	// processMemory is the memory limit of each process in bytes, as in a container of that size.
	processMemory = 1024 * mib
)

// heavy is an asynchronous request and its result.
type heavy struct {
	cost

	id     string // id under which the request is polled; empty: the server refused the request
	sent   time.Time
	took   time.Duration // time until the request ended
	status int           // status of the answer; 0: the request has not ended
	answer string        // first bytes of the answer
}

// heavyKinds returns the bulk requests of costs that the server accepts, and other valid requests that take
// long.
func heavyKinds(long, many string) []cost {
	const bulk = "/api/asset"
	all := slices.DeleteFunc(costs(long, many), func(c cost) bool {
		return c.path != bulk || c.media != "" || strings.Contains(c.name, "guesses")
	})
	stories := "[" + strings.TrimSuffix(strings.Repeat(`{"AssetType":"Story","Name":"`+veryMany+`","Scope":"Scope:0","Estimate":3},`, manyStories), ",") + "]"
	return append(all,
		cost{name: createsMany, path: bulk, body: stories, want: http.StatusOK},
		cost{name: "an update of all", path: bulk, body: `{"from":"Story","where":{"Scope":"Scope:0"},"update":{"Estimate":5}}`, want: http.StatusOK},
		cost{name: "a copy of all", path: bulk, body: `{"from":"Story","where":{"Scope":"Scope:0"},"filter":["Name!='` + veryMany + `'"],"execute":"Copy"}`, want: http.StatusOK},
		cost{name: "all texts", path: bulk, body: `[` + strings.TrimSuffix(strings.Repeat(`{"from":"Story","select":["Name","Description"]},`, 4), ",") + `]`, want: http.StatusOK},
		cost{name: "a query without an end", path: bulk, body: endless, want: http.StatusOK},
		cost{name: "a slow query", path: bulk, body: slow, want: http.StatusOK},
	)
}

// TestHeavyAsynchronousRequests lets twenty members do ordinary work, first alone and then while sixty
// asynchronous requests of the heaviest kinds run. It fails if the heavy requests keep the members waiting
// or end a process.
//
//	go test ./internal/test/attack -run HeavyAsynchronous -v -timeout 2h -attack.load 10m -attack.limit 30s
func TestHeavyAsynchronousRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: members are timed for minutes")
	}
	settings := []string{
		"ALDS_REQUEST_TIMEOUT=" + loadLimit.String(), "ALDS_DB_WRITE_LIMIT=" + loadLimit.String(),
		fmt.Sprintf("GOMEMLIMIT=%d", processMemory), "ALDS_LOG_LEVEL=info",
	}
	onEach(t, setup{settings: settings}, func(t *testing.T, s *site) {
		processes := map[string]*testproc.Process{s.command: s.proc}
		if s.command == "api" {
			processes["worker"] = s.also("worker")
		}
		stories, long := s.heavyWorld()
		u := s.employ(1000)
		quiet := u.work(t, *loadFor/5, nil)
		forgetPeaks(t, processes)
		all := s.sendHeavy(t, long, stories[0])
		modest := &heavy{cost: cost{name: modestName, path: "/api/asset", body: `{"AssetType":"Story","Name":"only one","Scope":"Scope:0"}`}}
		s.accept(t, s.client, u.workers[0].who, modest)
		all = append(all, modest)
		ended := make(chan struct{})
		go func() { defer close(ended); s.pollHeavy(t, all) }()
		loaded := u.work(t, *loadFor, ended)
		<-ended
		comparePeaks(t, processes)
		s.report(t, all)
		table(t, quiet, loaded)
		s.judge(t, quiet, loaded)
		u.nothingLost(t)
		s.sound()
	})
}

// forgetPeaks resets the peak memory of the processes, so that comparePeaks compares only later peaks.
func forgetPeaks(t *testing.T, processes map[string]*testproc.Process) {
	t.Helper()
	for name, p := range processes {
		if err := p.ForgetPeak(); err != nil {
			t.Fatal(err)
		}
		now, _ := p.Memory()
		t.Logf("%s holds %d MiB in quiet", name, now/mib)
	}
}

// comparePeaks fails the test if a process has ended, or has used more memory than processMemory.
func comparePeaks(t *testing.T, processes map[string]*testproc.Process) {
	t.Helper()
	for name, p := range processes {
		p.MustRun()
		_, most := p.Memory()
		t.Logf("%s held %d MiB at most, allowed are %d", name, most/mib, processMemory/mib)
		if most > processMemory {
			t.Errorf("%s held %d MiB", name, most/mib)
		}
	}
}

// also starts one more process of the installation, with the given command, and waits until it is ready.
func (s *site) also(command string) *testproc.Process {
	s.t.Helper()
	health := testproc.FreeAddr(s.t)
	env := append(slices.Clone(s.env), "ALDS_ADMIN_ADDR="+health)
	p := testproc.Start(s.t, testproc.Options{Env: env, Log: s.log}, command)
	if !testproc.Becomes(s.t.Context(), "http://"+health+"/readyz", http.StatusOK) {
		s.t.Fatalf("%s is not ready", command)
	}
	return p
}

// heavyWorld creates stories with owners, eighty stories with a text of one MiB, and a story with two
// million characters.
func (s *site) heavyWorld() (stories []string, long string) {
	s.t.Helper()
	var people []any
	for i := range owners {
		people = append(people, map[string]any{"AssetType": "Member", "Name": fmt.Sprintf("M%d", i), "Nickname": fmt.Sprintf("M%d", i), "DefaultRole": "Role:4"})
	}
	members := s.post(people)
	stories = s.stories(2000, func(i int) []string { return []string{members[i%owners], members[(i+7+i/owners%5)%owners]} })
	text := func(n int) any {
		return map[string]any{"AssetType": "Story", "Name": "long", "Scope": "Scope:0", "Description": strings.Repeat("a", n)}
	}
	for range 4 {
		s.post(slices.Repeat([]any{text(mib)}, 20))
	}
	return stories, s.post([]any{text(2_000_000)})[0]
}

// sendHeavy sends the heavy requests as a few members, for asynchronous execution.
func (s *site) sendHeavy(t *testing.T, long, many string) []*heavy {
	t.Helper()
	var greedy []string
	for i := range heavyMembers {
		greedy = append(greedy, s.member(fmt.Sprintf("greedy%d", i)))
	}
	c, kinds := from(attacker), heavyKinds(long, many)
	all := make([]*heavy, heavyRequests)
	began := time.Now()
	var sending sync.WaitGroup
	for i := range all {
		all[i] = &heavy{cost: kinds[i%len(kinds)]}
		sending.Go(func() { s.accept(t, c, greedy[i%heavyMembers], all[i]) })
	}
	sending.Wait()
	t.Logf("%d requests of %d kinds were sent in %s", len(all), len(kinds), time.Since(began).Round(time.Millisecond))
	return all
}

// accept sends one request for asynchronous execution. It repeats the request while the server answers 503.
// The server does so while other requests of the same member use all memory of that member.
func (s *site) accept(t *testing.T, c *http.Client, who string, h *heavy) {
	h.sent = time.Now()
	for {
		status, id, err := s.later(t.Context(), c, who, h.cost)
		switch {
		case err == nil && status == http.StatusServiceUnavailable && time.Since(h.sent) < giveUp:
			time.Sleep(time.Second)
		case err != nil, status != http.StatusAccepted:
			t.Errorf("%s: %d %v", h.name, status, err)
			return
		default:
			h.id = id
			return
		}
	}
}

// later sends a request with "Prefer: respond-async" and returns its id.
func (s *site) later(ctx context.Context, c *http.Client, who string, one cost) (status int, id string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url(one.path), strings.NewReader(one.body))
	if err != nil {
		return 0, "", err
	}
	name, password, _ := strings.Cut(who, ":")
	req.SetBasicAuth(name, password)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Prefer", "respond-async")
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var answer struct{ RequestID string }
	err = json.NewDecoder(res.Body).Decode(&answer)
	return res.StatusCode, answer.RequestID, err
}

// pollHeavy polls the unfinished requests every two seconds until all have ended. Its time limit is long
// enough to execute all requests one after another.
func (s *site) pollHeavy(t *testing.T, all []*heavy) {
	began := time.Now()
	for n := 1; n > 0 && time.Since(began) < giveUp+time.Duration(len(all)*heavyTries)**loadLimit; {
		time.Sleep(2 * time.Second)
		n = 0
		for _, h := range all {
			if h.status == 0 && h.id != "" {
				s.poll(t.Context(), h)
			}
			if h.status == 0 && h.id != "" {
				n++
			}
		}
	}
}

// poll asks once whether the request has ended, and stores the answer if it has.
func (s *site) poll(ctx context.Context, h *heavy) {
	status, answer, err := s.ask(ctx, s.client, "admin:"+adminPassword, http.MethodGet, "/api/asset/"+h.id, nil)
	var state struct{ Complete bool }
	if err != nil || status == http.StatusServiceUnavailable { // poll again later
		return
	}
	if err := json.Unmarshal(answer, &state); err == nil && status == http.StatusOK && !state.Complete {
		return
	}
	h.status, h.took, h.answer = status, time.Since(h.sent), string(answer[:min(len(answer), 120)])
}

// report logs how each request ended, in the order in which the requests ended. It fails the test if a
// request did not end or was not executed exactly once.
func (s *site) report(t *testing.T, all []*heavy) {
	t.Helper()
	slices.SortStableFunc(all, func(a, b *heavy) int { return a.sent.Add(a.took).Compare(b.sent.Add(b.took)) })
	made := 0
	for i, h := range all {
		t.Logf("%-40s %8s  %d %s", h.name, h.took.Round(100*time.Millisecond), h.status, h.answer)
		if h.status != http.StatusOK && h.status != http.StatusBadRequest {
			t.Errorf("%s has ended with %d", h.name, h.status)
		}
		if h.name == createsMany && h.status == http.StatusOK {
			made += manyStories
		}
		if h.name == modestName && i > modestTurns {
			t.Errorf("%s has waited for %d others, allowed are %d", h.name, i, modestTurns)
		}
	}
	_, answer, err := s.ask(t.Context(), s.client, "admin:"+adminPassword, http.MethodPost, "/query.v1", []byte(`{"from":"Scope:0","select":["Workitems:Story[Name='`+veryMany+`'].@Count"]}`))
	if err != nil || !strings.Contains(string(answer), fmt.Sprintf(`@Count":"%d"`, made)) {
		t.Errorf("%d stories were created, counted are %s %v", made, answer, err)
	}
}

// judge fails the test if a request of the members failed or took too long. On SQLite a write may wait
// longer than on a database server, because only one request writes at a time.
func (s *site) judge(t *testing.T, quiet, loaded *usualTimes) {
	t.Helper()
	for _, wrong := range append(quiet.wrong, loaded.wrong...) {
		t.Error(wrong)
	}
	for _, kind := range kinds {
		most := max(floor, 3*quiet.percentile(kind, .99))
		if s.command == "standalone" && (kind == kindWrite || kind == kindCreate) {
			most = max(most, longestWait)
		}
		if slow := loaded.percentile(kind, .99); slow > most {
			t.Errorf("%s: 99 of 100 within %s, allowed are %s", kind, ms(slow), ms(most))
		}
	}
}
