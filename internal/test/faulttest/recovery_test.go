package faulttest

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// goneIn is a long time limit for the delay after a fault. The tests also log the measured delay and the
// delay that is aimed for.
const goneIn = time.Minute

// TestAKilledWorkersDeliveriesAreTakenOver kills a worker while it delivers. Another worker must send the
// deliveries.
func TestAKilledWorkersDeliveriesAreTakenOver(t *testing.T) {
	together(t)
	const stories = 40
	s := newSite(t)
	s.startAPI()
	s.start("scheduler")
	worker := s.start("worker")
	project := s.project("taken over")
	b := newBook(t)
	release := b.hold()
	s.subscribe(b.url, 1, map[string]any{"type": "AssetCreated", "from": "Story"})
	s.make(project, "taken over", stories)
	select {
	case <-b.begun:
	case <-time.After(goneIn):
		t.Fatal("the worker sends nothing")
	}
	other := s.start("worker")
	worker.MustRun()
	worker.Kill()
	killed := time.Now()
	release()
	if !b.await(stories, goneIn) {
		t.Errorf("%d of %d events arrived within %s of the worker's end", b.distinct(), stories, goneIn)
	}
	t.Logf("all %d events had come %s after the worker was killed (aim: 15 s)", b.distinct(), b.lastNew().Sub(killed).Round(time.Millisecond))
	other.MustRun()
	s.sound()
}

// TestRedisComesBack writes while Redis is stopped, and after Redis was emptied. All events must arrive.
// When Redis runs again, processes must send hints through it again.
func TestRedisComesBack(t *testing.T) {
	together(t)
	const stories = 20
	admin := testproc.FreeAddr(t)
	s := newSite(t)
	s.startAPI()
	s.start("scheduler")
	worker := s.startAt(admin, "worker")
	project := s.project("Redis")
	b := newBook(t)
	s.subscribe(b.url, 10, map[string]any{"type": "AssetCreated", "from": "Story"})
	s.make(project, "before", stories)
	arrived := func(n int, what string) {
		t.Helper()
		from := time.Now()
		if !b.await(n, goneIn) {
			t.Fatalf("%s: %d of %d events arrived within %s", what, b.distinct(), n, goneIn)
		}
		t.Logf("%s: all had come %s later", what, max(0, b.lastNew().Sub(from)).Round(time.Millisecond))
	}
	arrived(stories, "with Redis")

	s.redis.Kill()
	s.make(project, "without", stories)
	arrived(2*stories, "without Redis")

	s.make(project, "shortly before its return", stories)
	hints := s.metric(admin, "alds_jobs_hints_total")
	s.redis.Start()
	back := time.Now()
	arrived(3*stories, "after the return of Redis (aim: 10 s)")
	n := 3 * stories
	for s.metric(admin, "alds_jobs_hints_total") == hints && time.Since(back) < goneIn {
		s.make(project, "hinted", 1)
		n++
		time.Sleep(50 * time.Millisecond)
	}
	if s.metric(admin, "alds_jobs_hints_total") == hints {
		t.Errorf("no hint is used within %s of Redis's return", goneIn)
	}
	t.Logf("hints are used again %s after the return of Redis", time.Since(back).Round(time.Millisecond))
	arrived(n, "while hints came back")

	s.make(project, "lost with their hints", stories)
	s.emptyRedis()
	arrived(n+stories, "after Redis was emptied")
	worker.MustRun()
	s.sound()
}

// make creates n stories with one request. The stories have names that begin with name.
func (s *site) make(project, name string, n int) {
	s.t.Helper()
	all := make([]any, n)
	for i := range all {
		all[i] = story(project, fmt.Sprintf("%s %d", name, i))
	}
	var b bulk
	s.mustPost("/api/asset", all, &b)
	if len(b.AssetsCreated.OIDTokens) != n {
		s.t.Fatalf("%d of %d stories were made", len(b.AssetsCreated.OIDTokens), n)
	}
}

// metric returns the value of a metric of the process whose health address is admin. It returns 0 while the
// process does not answer.
func (s *site) metric(admin, name string) float64 {
	s.t.Helper()
	res, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Fatalf("%s: %v", lines.Text(), err)
			}
			return n
		}
	}
	return 0
}
