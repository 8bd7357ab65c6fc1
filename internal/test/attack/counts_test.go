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

// The metrics of the process that the tests read.
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

// recentRequests is how many short requests of all members together may run at the same time: eight for
// each core. Package app has the same number.
func recentRequests() int { return 8 * runtime.GOMAXPROCS(0) }

// largeRequests is how many requests with large bodies one member may run at the same time. Package httpapi
// has the same number.
func largeRequests() int { return max(1, runtime.GOMAXPROCS(0)/4) }

// metrics maps a metric to its value. The key is the name with its labels, as on /metrics.
type metrics map[string]float64

// raise sets each metric of m that is in names to its value in now, if that value is higher.
func (m metrics) raise(now, names metrics) {
	for name := range names {
		m[name] = max(m[name], now[name])
	}
}

// String returns the names and values, sorted by name.
func (m metrics) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s %v, ", name, m[name])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// metrics reads /metrics of the process.
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

// metric returns the value of one metric.
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

// becomes waits until the metric is at least as high as the parameter least. It fails the test if that
// takes longer than giveUp.
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

// get requests a URL without credentials.
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

// tally counts the answers to the attacker. The key of count is the status.
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

// turns returns the number of answers so far except 503: such a request was refused and has had no turn. For a nil
// tally it returns 0.
func (c *tally) turns() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all - c.count[http.StatusServiceUnavailable]
}

// total returns the number of answers so far. For a nil tally it returns 0.
func (c *tally) total() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// becomes waits until the number of answers in the tally reaches least. It fails the test if that takes
// longer than giveUp.
func (c *tally) becomes(t *testing.T, least int) {
	t.Helper()
	for end := time.Now().Add(giveUp); c.total() < least; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("only %d answers, not %d", c.total(), least)
		}
	}
}

// only fails the test if an answer had a status that is not in allowed.
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
