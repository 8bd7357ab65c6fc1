package jobs

import (
	"context"
	"errors"
	"flag"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/app/embedded"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/requests"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // the tests spend most of their time waiting
	testdb.Judged(m)
}

const timeout = time.Minute

// fakeWork implements Changes and Requests. Each method sends to a channel when it is called.
type fakeWork struct {
	fanOuts, sweeps, executions chan struct{}
	pulls                       chan string
	err                         error                         // returned by each call
	states                      map[int64]webhook.FanOutState // key: audit id; the fan-outs of other audits are done
}

func newFakeWork() *fakeWork {
	return &fakeWork{fanOuts: make(chan struct{}, 100), sweeps: make(chan struct{}, 100), executions: make(chan struct{}, 100), pulls: make(chan string, 100)}
}

func (w *fakeWork) FanOut(ctx context.Context) error {
	select {
	case w.fanOuts <- struct{}{}:
	case <-ctx.Done():
	}
	return w.err
}

func (w *fakeWork) Sweep(context.Context) error {
	w.sweeps <- struct{}{}
	return w.err
}

func (w *fakeWork) FanOutStates(_ context.Context, audits []int64) (all []webhook.FanOutState, err error) {
	for _, id := range audits {
		s, known := w.states[id]
		if !known {
			s = webhook.FanOutState{Done: true, Versions: 3}
		}
		s.Audit = id
		all = append(all, s)
	}
	return all, w.err
}

func (w *fakeWork) ExecuteWaiting(context.Context) error {
	w.executions <- struct{}{}
	return w.err
}

func (w *fakeWork) Execute(_ context.Context, id string) (requests.State, error) {
	w.executions <- struct{}{}
	return requests.State{ID: id, Done: true, Commands: 5}, w.err
}

func (w *fakeWork) Pull(_ context.Context, subscription string) error {
	w.pulls <- subscription
	return w.err
}

func receive[T any](t *testing.T, from chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(timeout):
		t.Fatalf("%s: not within %s", what, timeout)
		panic("unreachable")
	}
}

// start calls run in a goroutine. At the end of the test it cancels the context and checks that run
// returns.
func start(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := receive(t, done, "the role's end"); err != nil {
			t.Error(err)
		}
	})
}

func open(t *testing.T, url string) *Queue {
	t.Helper()
	q, err := Open(url, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// eachRedis runs test with a real Redis server and with the embedded Redis.
func eachRedis(t *testing.T, test func(t *testing.T, url string)) {
	t.Parallel()
	t.Run("server", func(t *testing.T) { t.Parallel(); test(t, testdb.Redis(t)) })
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		url, stop, err := embedded.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		test(t, url)
	})
}

func TestACommitWakesAWorker(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		q := open(t, url)
		work := newFakeWork()
		c := NewClient(q)
		start(t, c.Run)
		w := NewWorker(q, work, work)
		w.sweepEvery = time.Hour
		start(t, w.Run)
		receive(t, work.sweeps, "the first sweep")
		receive(t, work.fanOuts, "the fan-out of what waits")
		drain(work.fanOuts)
		for i := range int64(20) {
			c.Committed(i, "w")
			receive(t, work.fanOuts, "a fan-out by the hint")
		}
		if len(work.sweeps) > 0 {
			t.Error("a sweep may have done it")
		}
		c.WakeAt("s1", time.Now())
		if got := receive(t, work.pulls, "a pull"); got != "s1" {
			t.Errorf("pulled %s", got)
		}
	})
}

// drain empties a channel.
func drain(from chan struct{}) {
	for {
		select {
		case <-from:
		default:
			return
		}
	}
}

// TestAnAcceptedRequestWakesAWorker allows only the first sweep, because a later sweep would also
// execute the request.
func TestAnAcceptedRequestWakesAWorker(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		q := open(t, url)
		work := newFakeWork()
		c := NewClient(q)
		start(t, c.Run)
		w := NewWorker(q, work, work)
		w.sweepEvery = time.Hour
		start(t, w.Run)
		receive(t, work.sweeps, "the first sweep")
		receive(t, work.executions, "the requests that wait")
		drain(work.executions)
		for i := range 20 {
			c.Accepted(strconv.Itoa(i))
			receive(t, work.executions, "an execution by the task")
		}
		if len(work.sweeps) > 0 {
			t.Error("a sweep may have done it")
		}
	})
}

func TestAnAttachedWorkerIsWokenWithoutRedis(t *testing.T) {
	t.Parallel()
	q := open(t, "redis://127.0.0.1:1")
	work := newFakeWork()
	w := NewWorker(q, work, work)
	c := NewClient(q)
	c.Attach(w)
	start(t, w.Run)
	c.Committed(1, "w")
	receive(t, work.fanOuts, "a fan-out")
	receive(t, work.executions, "the first look")
	c.Accepted("1")
	receive(t, work.executions, "an execution")
}

func TestWithoutRedisNothingBlocksAndTheSweepGoesOn(t *testing.T) {
	t.Parallel()
	q := open(t, "redis://127.0.0.1:1")
	work := newFakeWork()
	work.err = errors.New("failing work ends nothing")
	c := NewClient(q)
	start(t, c.Run)
	w := NewWorker(q, work, work)
	w.sweepEvery = 100 * time.Millisecond
	start(t, w.Run)
	for i := range 2 * maxBacklog {
		c.Committed(int64(i), "w")
		c.Accepted(strconv.Itoa(i))
		c.WakeAt("s", time.Now())
	}
	// The loop adds 6*maxBacklog tasks. The client holds at most maxBacklog of them, and sends only
	// a few. It drops the others.
	if n := testutil.ToFloat64(q.metrics.dropped); n < 4*maxBacklog {
		t.Errorf("%v tasks were dropped: some waited for Redis", n)
	}
	receive(t, work.sweeps, "a sweep")
	receive(t, work.sweeps, "another sweep")
	receive(t, work.executions, "an execution")
}

func TestTheListOfHintsIsBounded(t *testing.T) {
	q := open(t, testdb.Redis(t))
	c := NewClient(q)
	for i := range 200 {
		c.Committed(int64(i), "w")
		c.pushHint(t.Context())
	}
	if n := q.redis.LLen(t.Context(), hintList).Val(); n != maxHints {
		t.Errorf("%d hints", n)
	}
}

func TestTheSchedulerContinuesAfterFailuresAndWithoutRedis(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	again := make(chan struct{}, 100)
	registry := prometheus.NewRegistry()
	s := NewScheduler(open(t, "redis://127.0.0.1:1"), nil, registry, Periodic{Name: "x", Every: time.Millisecond, Run: func(context.Context) error {
		defer func() { again <- struct{}{} }()
		switch runs.Add(1) {
		case 1:
			return errors.New("no")
		case 2:
			panic("worse")
		}
		return nil
	}})
	began := float64(time.Now().Unix())
	start(t, s.Run)
	for range 5 {
		receive(t, again, "a run")
	}
	measured := map[string]float64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		m := f.GetMetric()[0]
		measured[strings.TrimPrefix(f.GetName(), "alds_jobs_periodic_")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	if measured["period_seconds"] != 0.001 || measured["failures_total"] != 2 || measured["last_success_timestamp_seconds"] < began {
		t.Errorf("measured: %v", measured)
	}
}

// TestWorkThatNeverEndsWellIsOverdue checks the metric of the last success for work that always
// fails. The metric must exist from the start of the scheduler, so that the work becomes overdue.
func TestWorkThatNeverEndsWellIsOverdue(t *testing.T) {
	m := newPeriodicMetrics(nil)
	m.starts(Periodic{Name: "x", Every: time.Minute})
	m.ran("x", errors.New("no"), time.Second)
	gauges := make(chan prometheus.Metric, 1)
	m.last.Collect(gauges)
	if len(gauges) != 1 {
		t.Error("nothing tells since when it is due")
	}
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"redis://127.0.0.1:6379":                    true,
		"redis://localhost":                         true,
		"rediss://user:secret@redis.test:6380/3":    true,
		"redis+sentinel://:pw@a:26379,b:26379/main": true,
		"redis-sentinel://a:26379?master=main&db=2": true,
		"redis+cluster://a:7000,b:7001":             true,
		"redis+sentinel://a:26379":                  false,
		"redis://127.0.0.1:6379/first":              false,
		"redis+sentinel://a:26379/main?db=-1":       false,
		"http://127.0.0.1":                          false,
		"127.0.0.1:6379":                            false,
		"redis://user:pa%ss@127.0.0.1":              false,
		"":                                          false,
	} {
		q, err := Open(address, nil, nil)
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if q != nil {
			_ = q.Close()
		}
	}
}

// TestANewConnectionWaitsForNothing checks the start of a connection. The library then sends
// commands that servers before Redis 7.2 refuse, which must not count as a failure.
func TestANewConnectionWaitsForNothing(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		q := open(t, url)
		if err := q.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := q.pauses.Load(); n > 0 {
			t.Errorf("%d pauses before the first command", n)
		}
	})
}

// TestALongFanOutDelaysNothingElse checks that a long fan-out does not delay sweeps, requests or
// tasks.
func TestALongFanOutDelaysNothingElse(t *testing.T) {
	eachRedis(t, func(t *testing.T, url string) {
		q := open(t, url)
		work := newFakeWork()
		work.fanOuts = make(chan struct{}) // no goroutine receives, so FanOut does not return
		work.states = map[int64]webhook.FanOutState{1: {}}
		c := NewClient(q)
		start(t, c.Run)
		w := NewWorker(q, work, work)
		w.sweepEvery = 100 * time.Millisecond
		start(t, w.Run)
		c.Committed(1, "w")
		await(t, q, queueChanges, taskFanOut+":1", asynq.TaskStateActive)
		for range 2 {
			receive(t, work.sweeps, "a sweep")
			receive(t, work.executions, "an execution")
		}
		c.WakeAt("s1", time.Now())
		receive(t, work.pulls, "a pull")
		c.Committed(2, "w")
		await(t, q, queueChanges, taskFanOut+":2", asynq.TaskStateCompleted)
	})
}
