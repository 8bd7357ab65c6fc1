package attack

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Metrics that say what the process does for its clients.
const (
	running      = "alds_httpapi_requests_running"
	inFlight     = "alds_httpapi_requests_in_flight"
	received     = "alds_httpapi_received_bytes_total"
	memoryTaken  = "alds_httpapi_memory_bytes"
	clientsGone  = `alds_httpapi_broken_answers_total{by="client"}`
	connections  = "alds_inbound_connections"
	refusedShort = `alds_inbound_refused_total{bound="shortage"}`
	hashes       = "alds_auth_password_check_seconds_count"
	slowedLogins = `alds_auth_logins_total{outcome="slowed",scheme="basic"}`
	longReads    = `alds_app_db_pool_in_use{pool="long"}`
	longWaiting  = "alds_app_db_long_reads_waiting"
	killed       = "alds_app_db_statements_killed_total"
)

// recentRequests is how many requests of all members run at a time, as long as they are
// short: as many as package app lets, which has eight for each core.
func recentRequests() int { return 8 * runtime.GOMAXPROCS(0) }

// largeRequests is how many requests with large bodies one member may have running:
// as many as package httpapi lets.
func largeRequests() int { return max(1, runtime.GOMAXPROCS(0)/4) }

// metrics are values of /metrics by name, with labels as they stand there.
type metrics map[string]float64

// raise keeps the highest values of the metrics that are asked for.
func (m metrics) raise(now, names metrics) {
	for name := range names {
		m[name] = max(m[name], now[name])
	}
}

// String lists the values by name.
func (m metrics) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s %v, ", name, m[name])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// metrics reads the metrics of the process.
func (s *site) metrics(ctx context.Context, c *http.Client) (metrics, error) {
	status, text, err := get(ctx, c, strings.TrimSuffix(s.health, "/healthz")+"/metrics")
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("answered %d: %w", status, err)
	}
	m := metrics{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(line, ' ')
		if value, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64); err == nil && at > 0 {
			m[line[:at]] = value
		}
	}
	return m, nil
}

// metric is the value of one metric.
func (s *site) metric(t *testing.T, name string) float64 {
	t.Helper()
	m, err := s.metrics(t.Context(), s.client)
	if err != nil {
		t.Fatal(err)
	}
	value, ok := m[name]
	if !ok {
		t.Fatalf("no metric %s", name)
	}
	return value
}

// becomes waits until a metric has at least a value. It fails the test if that does not
// happen.
func (s *site) becomes(t *testing.T, name string, least float64) {
	t.Helper()
	now := s.metric(t, name)
	for end := time.Now().Add(giveUp); now < least; now = s.metric(t, name) {
		if time.Now().After(end) {
			t.Fatalf("%s is %v, and does not become %v", name, now, least)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// get asks for a URL without credentials.
func get(ctx context.Context, c *http.Client, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// tally counts what attackers were answered.
type tally struct {
	mu    sync.Mutex
	count map[int]int
	all   int
}

func (c *tally) add(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[int]int{}
	}
	c.count[status]++
	c.all++
}

// total is how many answers there were so far.
func (c *tally) total() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// becomes waits until there were so many answers. It fails the test if that does not
// happen.
func (c *tally) becomes(t *testing.T, least int) {
	t.Helper()
	for end := time.Now().Add(giveUp); c.total() < least; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d answers, not %d", c.total(), least)
		}
	}
}

// only fails the test for another status than these.
func (c *tally) only(t *testing.T, allowed ...int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("answered %v", c.count)
	for status, n := range c.count {
		if !slices.Contains(allowed, status) {
			t.Errorf("%d requests were answered %d", n, status)
		}
	}
}
