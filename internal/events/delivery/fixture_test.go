package delivery

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) {
	testdb.Judged(m,
		"DELETE FROM webhook_delivery",
		"DELETE FROM webhook_receipt",
		"DELETE FROM webhook_subscription",
		"UPDATE webhook_delivery SET lease = ?",
		"UPDATE webhook_delivery SET lease = ?, owner = CASE WHEN first_moment = ? THEN ? ELSE owner END",
		"UPDATE webhook_subscription SET failures_in_row = ?",
		"UPDATE webhook_subscription SET paused = ?",
	)
}

// maxWait is how long a test waits before it fails.
const maxWait = time.Minute

// fixture is a Store for tests, with its database. Its subscriptions have no rules, so a test
// creates their deliveries itself.
type fixture struct {
	*testing.T
	d      *db.DB
	s      *Store
	moment int64

	mu     sync.Mutex
	failed []string // the subscriptions with which DeliveryFailed was called
}

func newFixture(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	box, err := secret.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, d: d, moment: 1000}
	f.s = New(d, Config{Subscriptions: f, Box: box, Retention: time.Hour, Log: slog.New(slog.DiscardHandler)})
	return f
}

func (f *fixture) DeliveryFailed(_ context.Context, subscription, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, subscription)
	return nil
}

// subscribe creates a subscription to url with one event per delivery, and returns its id.
func (f *fixture) subscribe(url string) string {
	f.Helper()
	return f.subscribeBatch(url, 1)
}

// subscribeBatch creates a subscription with at most maxBatch events per delivery, and returns
// its id.
func (f *fixture) subscribeBatch(url string, maxBatch int) string {
	f.Helper()
	id := uuid.NewString()
	f.exec(`INSERT INTO webhook_subscription (id, webhook_id, url, enabled, max_batch, event_types, created_at, updated_at,
		created_by, since_generation, generation) VALUES (?,'mine',?,1,?,'[]',0,0,20,0,0)`, id, url, maxBatch)
	return id
}

// sender starts a sender that stops at the end of the test.
func (f *fixture) sender(o Options) *Sender {
	f.Helper()
	if o.Schedule == nil {
		o.Schedule = []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}
	}
	o.AllowPrivate = true
	n := f.s.NewSender(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = n.Run(ctx)
	}()
	f.Cleanup(func() {
		cancel()
		n.queues.cancel() // the test does not wait for requests in flight
		<-done
	})
	return n
}

// idleSender returns a sender that never sends, and that claims only when a test calls it.
func (f *fixture) idleSender() *Sender {
	n := f.s.NewSender(Options{})
	n.queues.closed = true
	return n
}

// enqueue creates count deliveries with one event each. The sender n inserts and sends them.
func (f *fixture) enqueue(n *Sender, subscription string, count int) {
	f.Helper()
	var all []*Delivery
	for range count {
		f.moment++
		all = append(all, &Delivery{
			ID: NewID(), Subscription: subscription, Audit: f.moment, First: f.moment, Last: f.moment, Events: 1,
			Payload:   fmt.Appendf(nil, `{"events":[{"sequenceId":%d}]}`, f.moment),
			Committed: time.Now().UnixMicro(),
		})
	}
	f.insert(n, all)
}

// claimed lets n claim the due deliveries of a subscription, and returns the claimed deliveries.
func (f *fixture) claimed(n *Sender, subscription string) ([]*Delivery, *receiver) {
	f.Helper()
	all, r, _, err := n.claim(f.Context(), subscription, false)
	if err != nil {
		f.Fatal(err)
	}
	return all, r
}

// store stores results in one group, as the recorder does.
func (f *fixture) store(n *Sender, all ...*result) {
	f.Helper()
	if _, err := n.store(f.Context(), all); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) exec(query string, args ...any) {
	f.Helper()
	testdb.Exec(f, f.d, query, args...)
}

func (f *fixture) count(query string, args ...any) int {
	f.Helper()
	return testdb.Count(f, f.d, query, args...)
}

// eventually waits until ok returns true. If n is not nil, n sweeps between the calls of ok.
func (f *fixture) eventually(n *Sender, what string, ok func() bool) {
	f.Helper()
	until := time.Now().Add(maxWait)
	for !ok() {
		if time.Now().After(until) {
			f.Fatalf("%s: not within %s", what, maxWait)
		}
		if n != nil {
			if err := n.Sweep(f.Context()); err != nil {
				f.Fatal(err)
			}
		}
		<-time.After(5 * time.Millisecond)
	}
}

// expire ends all leases.
func (f *fixture) expire() {
	f.Helper()
	f.exec("UPDATE webhook_delivery SET lease = 0")
}

// sink is a receiver that stores the bodies of its requests. The function answer writes its
// answers.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	answer func(n int, w http.ResponseWriter, r *http.Request) // n: number of earlier requests; nil: answers 200
}

func newSink(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *sink {
	t.Helper()
	s := &sink{answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	n := len(s.bodies)
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(n, w, r)
	}
}

func (s *sink) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}
