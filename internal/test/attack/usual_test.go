package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A usual load has usualMembers members. Each member waits between two requests, on average for the
// duration thinking. One of 3*creates requests creates a story.
const (
	usualMembers = 20
	thinking     = 1500 * time.Millisecond
	creates      = 5
)

// The kinds of requests of a usual load. The texts appear in the log of the test.
const (
	kindPage   = "page of 50"
	kindOne    = "one asset"
	kindWrite  = "write one attribute"
	kindCreate = "create"
)

var kinds = []string{kindPage, kindOne, kindWrite, kindCreate}

// usual is a load of members who work in the project with the Oid project.
type usual struct {
	s       *site
	project string
	workers []*usualMember
}

// usualMember is a member of a usual load, and what the member has written.
type usualMember struct {
	who     string // "name:password"
	name    string
	project string
	own     string // Oid of a story that only this member writes
	client  *http.Client
	written int // last value that was written with an answer 200
	wrote   int // last value that was sent
	created int // stories that were created with an answer 200
	unknown int // creations of stories that got another answer or none
	random  *rand.Rand
}

// usualTimes has the results of the requests of a usual load.
type usualTimes struct {
	mu    sync.Mutex
	took  map[string][]time.Duration // by kind: durations of the requests that were answered 200
	wrong []string                   // failed requests, with their answers
}

func (u *usualTimes) add(kind string, took time.Duration, wrong string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if wrong != "" {
		u.wrong = append(u.wrong, kind+": "+wrong)
		return
	}
	u.took[kind] = append(u.took[kind], took)
}

// percentile returns a percentile of the durations of requests of a kind. p is from 0 to 1.
func (u *usualTimes) percentile(kind string, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(u.took[kind]))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(float64(len(sorted)-1)*p)]
}

// employ creates a project with stories and the members of a usual load. It logs the members in.
func (s *site) employ(stories int) *usual {
	s.t.Helper()
	u := &usual{s: s}
	u.project = s.post([]any{map[string]any{"AssetType": "Scope", "Name": "Usual work", "Parent": "Scope:0", "BeginDate": "2026-01-01"}})[0]
	var all []any
	for i := range stories {
		all = append(all, map[string]any{"AssetType": "Story", "Name": fmt.Sprintf("Story %d", i), "Scope": u.project, "Estimate": i % 13})
	}
	made := s.post(all)
	for i := range usualMembers {
		name := "usual" + strconv.Itoa(i)
		s.member(name)
		m := &usualMember{who: name + ":" + passwordOf(name), name: name, project: u.project, own: made[i], client: from("127.0.0.1"), random: rand.New(rand.NewPCG(1, uint64(i)))} //nolint:gosec // repeatable
		m.client.Timeout = giveUp
		u.workers = append(u.workers, m)
		for _, kind := range kinds {
			if _, wrong := m.ask(s.t.Context(), s, kind); wrong != "" {
				s.t.Fatalf("before any load: %s: %s", kind, wrong)
			}
		}
	}
	return u
}

// work lets all members work until the duration in lasts has passed, or until ended is closed.
func (u *usual) work(t *testing.T, lasts time.Duration, ended <-chan struct{}) *usualTimes {
	t.Helper()
	seen := &usualTimes{took: map[string][]time.Duration{}}
	ctx, stop := context.WithTimeout(t.Context(), lasts)
	defer stop()
	go func() {
		select {
		case <-ended:
			stop()
		case <-ctx.Done():
		}
	}()
	var all sync.WaitGroup
	for _, m := range u.workers {
		all.Go(func() { m.work(ctx, u.s, seen) })
	}
	all.Wait()
	return seen
}

// work sends requests until ctx ends. It then waits for the answer to the last request.
func (m *usualMember) work(ctx context.Context, s *site, seen *usualTimes) {
	for n := m.random.IntN(100); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(m.random.Int64N(2 * int64(thinking)))):
		}
		kind := kinds[n%3]
		if n%(3*creates) == 0 {
			kind = kindCreate
		}
		took, wrong := m.ask(s.t.Context(), s, kind)
		seen.add(kind, took, wrong)
	}
}

// ask sends one request of a kind. wrong describes the answer if it is not 200 or if a command failed;
// otherwise it is empty.
func (m *usualMember) ask(ctx context.Context, s *site, kind string) (took time.Duration, wrong string) {
	method, path, body := http.MethodPost, "/api/asset", ""
	switch kind {
	case kindPage:
		path, body = "/query.v1", strings.Replace(page, "Scope:0", m.project, 1)
	case kindOne:
		method, path = http.MethodGet, "/rest-1.v1/Data/"+strings.Replace(m.own, ":", "/", 1)+"?sel=Name,Estimate"
	case kindWrite:
		m.wrote++
		body = fmt.Sprintf(`{"from":"%s","update":{"Reference":"%d"}}`, m.own, m.wrote)
	case kindCreate:
		body = fmt.Sprintf(`{"AssetType":"Story","Name":"made by %s","Scope":"%s"}`, m.name, m.project)
	}
	began := time.Now()
	status, answer, err := s.ask(ctx, m.client, m.who, method, path, []byte(body))
	took = time.Since(began)
	if err != nil || status != http.StatusOK || path == "/api/asset" && !strings.Contains(string(answer), `"commandFailures":{"commands":[],"count":0}`) {
		wrong = fmt.Sprintf("%d after %s %.300s %v", status, took.Round(time.Millisecond), answer, err)
	}
	switch {
	case kind == kindWrite && wrong == "":
		m.written = m.wrote
	case kind == kindCreate && wrong == "":
		m.created++
	case kind == kindCreate:
		m.unknown++
	}
	return took, wrong
}

// nothingLost fails the test if a write or a story that was answered 200 is missing, or if a story exists
// twice.
func (u *usual) nothingLost(t *testing.T) {
	t.Helper()
	for _, m := range u.workers {
		var answer [][]struct {
			Reference string
		}
		query := fmt.Sprintf(`[{"from":"%s","select":["Reference"]},{"from":"Story","select":["Reference"],"where":{"Name":"made by %s"}}]`, m.own, m.name)
		_, text, err := u.s.ask(t.Context(), u.s.client, "admin:"+adminPassword, http.MethodPost, "/query.v1", []byte(query))
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		if err != nil || len(answer) != 2 || len(answer[0]) != 1 {
			t.Fatalf("%s: %.300s %v", query, text, err)
		}
		if n, err := strconv.Atoi(answer[0][0].Reference); err != nil || n < m.written || n > m.wrote {
			t.Errorf("%s has %s, written was %d, and %d was sent last", m.own, answer[0][0].Reference, m.written, m.wrote)
		}
		if n := len(answer[1]); n < m.created || n > m.created+m.unknown {
			t.Errorf("%s has made %d stories, and %d without an answer; there are %d", m.name, m.created, m.unknown, n)
		}
	}
}

// table logs the durations of the requests of two loads: without and with the heavy requests.
func table(t *testing.T, quiet, loaded *usualTimes) {
	t.Helper()
	for _, kind := range kinds {
		t.Logf("%-20s quiet %4d times, p50 %8s, p99 %8s; beside them %5d times, p50 %8s, p99 %8s, longest %s", kind,
			len(quiet.took[kind]), ms(quiet.percentile(kind, .5)), ms(quiet.percentile(kind, .99)),
			len(loaded.took[kind]), ms(loaded.percentile(kind, .5)), ms(loaded.percentile(kind, .99)), ms(loaded.percentile(kind, 1)))
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
