package faulttest

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// TestDeliveriesDoNotWaitForABacklog writes while no worker runs and Redis is stopped. The metrics of the
// api must count the writes that wait for a worker. Then a worker starts. It must send deliveries that are
// due while most of these writes are still waiting.
func TestDeliveriesDoNotWaitForABacklog(t *testing.T) {
	together(t)
	requests, each := depth(20, 50), depth(500, 1_000)
	s := newSite(t)
	admin := testproc.FreeAddr(t)
	s.startAt(admin, "api")
	if !testproc.Becomes(t.Context(), s.base, 0) {
		t.Fatal("the api does not answer")
	}
	s.redis.Kill()
	project := s.project("backlog")
	b := newBook(t)
	s.subscribe(b.url, 100, map[string]any{"type": "AssetCreated", "from": "Story"})
	left := s.dueDelivery()
	before := s.backlog()
	for i := range requests {
		s.make(project, strconv.Itoa(i), each)
	}
	if n := s.backlog(); n != before+requests {
		t.Fatalf("%d writes wait", n)
	}
	s.awaitMetric(admin, "alds_webhook_backlog_audits", func(n float64) bool { return n == float64(s.backlog()) })
	s.awaitMetric(admin, "alds_webhook_backlog_age_seconds", func(n float64) bool { return n > 0 })

	s.start("worker")
	began := time.Now()
	select {
	case n := <-left:
		t.Logf("the delivery came %s after the start of the worker, while %d of %d writes waited", time.Since(began).Round(time.Millisecond), n, requests)
		if n == 0 {
			t.Error("the delivery that was due came after the fan-out of all changes")
		}
	case <-time.After(goneIn):
		t.Fatal("the delivery that was due does not come")
	}
	if !b.await(requests*each, goneIn) {
		t.Errorf("%d of %d events arrived", b.distinct(), requests*each)
	}
	s.awaitMetric(admin, "alds_webhook_backlog_audits", func(n float64) bool { return n == 0 })
	s.sound()
}

// backlog returns the number of writes that still wait for the fan-out, in which a worker creates the
// deliveries.
func (s *site) backlog() int {
	s.t.Helper()
	return s.count("SELECT COUNT(*) FROM audit WHERE fan_state = 0")
}

// dueDelivery creates a delivery that is due at once, for a new subscription. When the delivery arrives,
// the channel gets the result of backlog.
func (s *site) dueDelivery() (left <-chan int) {
	s.t.Helper()
	came, once := make(chan int, 1), sync.Once{}
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		once.Do(func() { came <- s.backlog() })
	}))
	s.t.Cleanup(receiver.Close)
	var made struct{ ID string }
	s.mustPost("/api/webhook", map[string]any{
		"url": receiver.URL, "enabled": true, "eventTypes": []any{map[string]any{"type": "AssetCreated", "from": "Defect"}},
	}, &made)
	s.mustPost("/api/webhook/test/"+made.ID, map[string]any{}, &struct{}{})
	return came
}

// awaitMetric waits until ok returns true for the value of a metric.
func (s *site) awaitMetric(admin, name string, ok func(float64) bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(testproc.AnswersIn); ; <-tick.C {
		n := s.metric(admin, name)
		if ok(n) {
			return
		}
		if time.Now().After(until) {
			s.t.Fatalf("%s is %g", name, n)
		}
	}
}
