package costtest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testseed"
)

var (
	requests = flag.Int("cost.requests", 0, "how many requests are sent; 0: 2,000 in the short form, else 20,000")
	on       = flag.String("cost.on", "", "a MariaDB that nobody else uses, mysql://…, or own, in the place of SQLite")
	first    = flag.Bool("cost.first", false, "end with the first finding, as it is: how soon a fault is found")
)

const (
	perService = 400             // requests to one database; a new database follows, because requests change the assets
	giveUp     = 3 * time.Minute // the service counts as hanging after this time without an answer
	maxFound   = 12              // number of findings after which a run ends

	// inGate is the seed with -short. It is always the same. Otherwise the test of a change could fail
	// because of an old fault that only another seed finds.
	inGate = 1
)

// cost is what a request cost, with its answer.
type cost struct {
	counts
	waited
	sent   int64 // size of the request in bytes
	peak   int64 // additional memory of the process at its peak, in bytes
	status int   // 0: no answer
	answer []byte
	size   int64 // size of the answer in bytes
	failed error
}

// TestRequests sends random requests and fails for each request that costs more than the bounds allow.
func TestRequests(t *testing.T) {
	seed, n := uint64(inGate), *requests
	if !testing.Short() || testseed.Given() {
		seed = testseed.New(t)
	}
	if n == 0 {
		n = 20_000
		if testing.Short() {
			n = 2000
		}
	}
	made := newMachine(t)
	workers := 1
	if !testing.Short() && *on == "" { // the counters of a database server include the work of all workers
		workers = runtime.GOMAXPROCS(0)
	}
	var working sync.WaitGroup
	for i := range workers {
		m := *made
		m.seen, m.closest = map[string]int{}, make([]nearest, len(bounds))
		working.Go(func() { m.run(seed, uint64(i), n/workers) }) //nolint:gosec // i is small
	}
	working.Wait()
}

// run sends n requests. seed and stream determine them.
func (m *machine) run(seed, stream uint64, n int) {
	g := &maker{Rand: rand.New(rand.NewPCG(seed, stream)), w: m.w} //nolint:gosec // repeatable
	found, began := 0, time.Now()
	for i := range n {
		if i%perService == 0 {
			if m.limit = mayTake; !testing.Short() && i/perService%4 != 0 {
				m.limit = mayTakeLess
			}
			m.renew()
		}
		r := g.request()
		m.sent = append(m.sent, r)
		c := m.send(r)
		m.note(r, c)
		why := tooMuch(c)
		if why != "" && !testing.Short() && !*first && c.mayBeLess() {
			m.t.Logf("request %d of %d: %s; the requests to this service are sent again\n%.2000s", i, stream, why, r)
			c = m.sendAgain()
			why = tooMuch(c)
		}
		if why != "" {
			found++
			if *first {
				m.t.Errorf("request %d of %d: %s\nanswered %d %.300s\n%.2000s\n%v, %d MiB held", i, stream, why, c.status, c.answer, r, c.counts, c.peak/mib)
				break
			}
			m.renew()
			m.t.Errorf("request %d of %d: %s", i, stream, m.shrunk(r, why, c))
			m.renew()
			if found == maxFound {
				break
			}
		}
		if c.status == http.StatusUnauthorized {
			m.renew()
		}
		if i%1000 == 999 {
			m.t.Logf("%d requests in %s", i+1, time.Since(began).Round(time.Second))
		}
	}
	m.report()
}

// machine sends requests to one service after another. Each service starts with a copy of the initial
// assets.
type machine struct {
	t        *testing.T
	template string
	server   *server // nil for SQLite
	database string  // name of the database on the server; empty: none
	limit    string  // ALDS_REQUEST_TIMEOUT
	w        *world
	s        *service
	sent     []*request     // requests to this service
	seen     map[string]int // number of answers by kind and status
	closest  []nearest      // one for each of bounds, in the same order
}

// newMachine starts a service, creates the initial assets and stops the service. It does not start another
// service.
func newMachine(t *testing.T) *machine {
	t.Helper()
	w := &world{oids: map[string][]string{}, tokens: map[string]string{}, moments: map[string]string{}}
	m := &machine{t: t, template: t.TempDir(), w: w, limit: mayTake, seen: map[string]int{}, closest: make([]nearest, len(bounds))}
	if *on != "" {
		m.server = newServer(t, *on)
		m.database = m.server.template
	}
	s := start(t, m.template, m.server, m.database, w, mayTakeFill)
	s.fill()
	// The webhook events of the initial assets must exist before the service stops.
	if _, err := s.settle(t.Context(), 10, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s.stop()
	m.database = ""
	return m
}

// renew kills the current service, if there is one, and starts a new one on a copy of the initial assets.
func (m *machine) renew() {
	m.t.Helper()
	if m.s != nil {
		m.s.client.CloseIdleConnections()
		m.s.proc.Kill()
	}
	if m.server != nil {
		m.database = m.server.copied(m.t, m.database)
	}
	m.s, m.sent = start(m.t, copyTo(m.t, m.template), m.server, m.database, m.w, m.limit), nil
	m.send(&request{kind: "first", who: "admin", method: "GET", path: "/rest-1.v1/Data/Scope/0"})
}

// sendAgain sends all requests of the current service to a new service and returns the cost of the last one.
func (m *machine) sendAgain() (c cost) {
	m.t.Helper()
	all := m.sent
	m.renew()
	for _, r := range all {
		if c = m.send(r); c.status == http.StatusUnauthorized {
			m.renew()
		}
	}
	m.sent = all
	return c
}

// send sends a request and returns its cost. It waits until the service has also done the work that the
// request causes later.
func (m *machine) send(r *request) (c cost) {
	m.t.Helper()
	s, ctx := m.s, m.t.Context()
	c.sent = int64(r.size())
	_ = s.proc.ForgetPeak()
	rest, _ := s.proc.Memory()
	before, err := s.looked(ctx, "")
	if err != nil {
		m.t.Fatal(err)
	}
	ended := make(chan struct{})
	go s.watch(rest, ended)
	other := make(chan waited, 1)
	go func() { other <- s.beside(ctx, ended) }()
	c.status, c.answer, c.size, c.failed = s.answer(ctx, r)
	if c.failed == nil && r.later && c.status == http.StatusAccepted {
		s.await(ctx, c.answer)
	}
	var after counts
	switch {
	case !r.writes && !r.later:
		after, err = s.looked(ctx, "")
	case s.server == nil:
		after, err = s.settle(ctx, 1, 5*time.Millisecond)
	default:
		after, err = s.settle(ctx, 3, 20*time.Millisecond) // on a database server, statements take longer than in SQLite
	}
	close(ended)
	c.waited = <-other
	if err != nil {
		c.failed = fmt.Errorf("the process has ended: %w", err)
		return c
	}
	c.counts = after.since(before)
	_, most := s.proc.Memory()
	c.peak = most - rest
	return c
}

// settle reads the counts of the process repeatedly. The parameter every is the pause between two readings.
// It returns when the process has done almost nothing since the previous reading, in as many readings in a
// row as the parameter looks says.
func (s *service) settle(ctx context.Context, looks int, every time.Duration) (now counts, err error) {
	now, err = s.looked(ctx, "")
	for quiet := 0; err == nil && quiet < looks; {
		last := now
		time.Sleep(every)
		now, err = s.looked(ctx, "")
		now.Held, now.HeldSteps = max(now.Held, last.Held), max(now.HeldSteps, last.HeldSteps)
		if quiet++; now.Written != last.Written || now.Statements-last.Statements >= 10 {
			quiet = 0
		}
	}
	return now, err
}

// maxPeak is how many bytes of memory a request may add before watch kills the process.
const maxPeak = 1500 * mib

// watch kills the process when a request has added maxPeak bytes of memory, to protect the machine. rest is
// the memory before the request, in bytes.
func (s *service) watch(rest int64, ended chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if now, _ := s.proc.Memory(); now-rest > maxPeak {
			s.proc.Kill()
			return
		}
	}
}

// answer sends a request once. It returns the status, the first 8,000 bytes of the answer, and the size of the
// answer in bytes.
func (s *service) answer(ctx context.Context, r *request) (status int, start []byte, size int64, err error) {
	body := r.text()
	session := s.w.tokens[r.who]
	if r.form == asForm {
		body = append(body, "&csrf="+csrf(session)...)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, s.base+r.url(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, 0, nil // the path is not a valid URL
	}
	req.Header.Set("Authorization", "Bearer "+session)
	req.Header.Set("Accept", "application/json")
	if r.form != "" {
		req.Header.Set("Content-Type", r.form)
	}
	for _, h := range r.header {
		if h.Key == "Cookie" {
			req.Header.Del("Authorization")
			req.AddCookie(&http.Cookie{Name: ".V1.Ticket.alds", Value: session}) //nolint:gosec // cookie of a request
			continue
		}
		req.Header.Set(h.Key, h.Value.(text).String())
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, nil, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	start, err = io.ReadAll(io.LimitReader(res.Body, 8000))
	if err == nil {
		size, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil && res.StatusCode == http.StatusOK { // the server may break off such an answer, see docs/limits.md
		err = nil
	}
	return res.StatusCode, start, size + int64(len(start)), err
}

// await waits until an asynchronous request is complete. answer is the body with its RequestID.
func (s *service) await(ctx context.Context, answer []byte) {
	var accepted struct{ RequestID string }
	_ = json.Unmarshal(answer, &accepted)
	for end := time.Now().Add(giveUp); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		status, now, _, err := s.answer(ctx, &request{who: "admin", method: "GET", path: "/api/asset/" + accepted.RequestID})
		if err != nil || status != http.StatusOK || !strings.Contains(string(now), `"processing": true`) && !strings.Contains(string(now), `"processing":true`) {
			return
		}
	}
}

// note counts the answer by kind and status. It also remembers the request if it is the closest to a bound
// so far.
func (m *machine) note(r *request, c cost) {
	m.seen[fmt.Sprintf("%s %d", r.kind, c.status)]++
	for i, b := range bounds {
		if share := b.share(c); share > m.closest[i].share {
			m.closest[i] = nearest{share, r, c}
		}
	}
}

// nearest is the request that came closest to a bound. share is the measured cost divided by the bound, so
// 1 is exactly at the bound.
type nearest struct {
	share float64
	r     *request
	c     cost
}

// report logs the answers by kind and status, and the requests that came closest to the bounds.
func (m *machine) report() {
	for _, k := range kinds {
		var statuses strings.Builder
		for status := range 600 {
			if n := m.seen[fmt.Sprintf("%s %d", k.name, status)]; n > 0 {
				fmt.Fprintf(&statuses, " %d: %d", status, n)
			}
		}
		m.t.Logf("%-22s%s", k.name, &statuses)
	}
	for i, b := range bounds {
		if c := m.closest[i]; c.r != nil {
			m.t.Logf("%.0f %% of the bound of %s: %.1000s\n%v", 100*c.share, b.what, c.r, c.c.counts)
		}
	}
}

// bound limits one kind of cost. For a request of n bytes whose answer has m bytes, the limit is
// each*n + once + m/answered, without the last term if answered is 0.
type bound struct {
	what       string
	of         func(cost) int64
	each, once int64
	answered   int64
}

func (b bound) limit(c cost) int64 {
	n := b.each*c.sent + b.once
	if b.answered > 0 {
		n += c.size / b.answered
	}
	return n
}

// bounds fit a service with the values of ALDS_BODY_MEMORY, ALDS_REQUEST_TIMEOUT and ALDS_MAX_ASSETS that
// start sets. One member may use half of the body memory, and the process needs four times as many bytes as
// the member uses. The other bounds follow from the timeout and from the limit on assets. A time limit ends
// slow queries, after about 50 million steps of SQLite in a second; the bounds of steps are for a processor
// that is more than twice as fast.
var bounds = []bound{
	// The process releases most of these bytes at once, such as a search text that SQLite passes to a function for
	// each row, until a time limit ends the request. "bytes held" limits the memory in use.
	{"bytes allocated", func(c cost) int64 { return c.Allocated }, 2000, 16384 * mib, 0},
	{"bytes held", func(c cost) int64 { return c.peak }, 500, 320 * mib, 0},
	{"microseconds of processor time", func(c cost) int64 { return c.Processor }, 50, 8_000_000, 0},
	{"microseconds in which the writer was held", func(c cost) int64 { return c.Held }, 20, 4_000_000, 0},
	{"statements", func(c cost) int64 { return c.Statements }, 1, 30_000, 0},
	{"thousand steps of SQLite", func(c cost) int64 { return c.Steps }, 1, 600_000, 0},
	{"rows read", func(c cost) int64 { return c.Read }, 10, 600_000, 10},
	{"rows written", func(c cost) int64 { return c.Written }, 1, 30_000, 0},
	{"thousand steps of SQLite in which the writer was held", func(c cost) int64 { return c.HeldSteps }, 1, 250_000, 0},
	{"thousand steps of SQLite in turns that another's write waited for", func(c cost) int64 { return c.write }, 1, 250_000, 0},
	{"turns of others that another's write waited for", func(c cost) int64 { return c.turns }, 0, 40, 0},
	{"thousand steps of SQLite while another's read waited", func(c cost) int64 { return c.read }, 0, 30_000, 0},
}

// share returns the cost divided by the bound, so 1 is exactly at the bound.
func (b bound) share(c cost) float64 {
	return float64(b.of(c)) / float64(b.limit(c))
}

// isTime reports whether a bound is a time. Times differ between machines, so they are not compared with
// -short.
func (b bound) isTime() bool { return strings.HasPrefix(b.what, "microseconds") }

// tooMuch describes the first bound that a request exceeds, or how the request failed. It returns "" if the
// request succeeded within all bounds.
func tooMuch(c cost) string {
	if c.failed != nil {
		return c.failed.Error()
	}
	if c.status == http.StatusInternalServerError {
		return fmt.Sprintf("answered 500 %s", c.answer)
	}
	if c.wrong != "" {
		return c.wrong
	}
	for _, b := range bounds {
		if b.share(c) > 1 && (!b.isTime() || !testing.Short()) {
			return fmt.Sprintf("%d %s, at most %d for %d bytes", b.of(c), b.what, b.limit(c), c.sent)
		}
	}
	return ""
}

// mayBeLess reports whether the cost exceeds only bounds of costs that a loaded machine increases. The garbage
// collector, for example, comes late when other programs use the processors.
func (c cost) mayBeLess() bool {
	c.Held, c.Processor, c.peak, c.waited = 0, 0, 0, waited{wrong: c.wrong}
	return tooMuch(c) == ""
}

// shrunk reduces a request that costs too much; last is its cost. It returns a description of the smallest such
// request that it found, with its cost.
func (m *machine) shrunk(r *request, why string, last cost) string {
	end := time.Now().Add(2 * time.Minute)
	for again := true; again && time.Now().Before(end); {
		again = false
		for _, less := range r.smaller() {
			if time.Now().After(end) {
				break
			}
			if less.size() > r.size() {
				continue
			}
			c := m.send(less)
			reason := tooMuch(c)
			if reason != "" || c.status == http.StatusUnauthorized || c.Written > 200 {
				m.renew()
			}
			if reason != "" {
				r, why, last, again = less, reason, c, true
				break
			}
		}
	}
	return fmt.Sprintf("%s\nanswered %d %.300s\n%s\n%v, %d MiB held, another's write waited for %d turns and %d thousand steps\n", why, last.status, last.answer, r, last.counts, last.peak/mib, last.turns, last.write)
}
