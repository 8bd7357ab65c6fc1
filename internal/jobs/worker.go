package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/write/requests"
)

// Changes fans out changes and delivers them. Every method may be called at any time,
// concurrently, and without work to do.
type Changes interface {
	FanOut(ctx context.Context) error
	// FanOutStates returns the progress of the fan-outs of audits.
	FanOutStates(ctx context.Context, audits []int64) ([]webhook.FanOutState, error)
	Pull(ctx context.Context, subscription string) error
	// Sweep wakes the delivery of due events. It does not wait for fan-outs.
	Sweep(ctx context.Context) error
}

// Requests executes accepted requests, which may take minutes.
type Requests interface {
	// Execute executes one request, unless it is done or another worker executes it. It
	// returns the state of the request.
	Execute(ctx context.Context, id string) (requests.State, error)
	ExecuteWaiting(ctx context.Context) error
}

// Worker calls Changes and Requests: for hints, for tasks, and in sweeps every two seconds.
// Fan-out, deliveries and requests have separate loops.
type Worker struct {
	q        *Queue
	changes  Changes
	requests Requests
	fanOut   chan struct{} // holds one signal from this process
	awaited  chan struct{} // holds one signal: tasks wait for their fan-out
	execute  chan struct{} // holds one signal: requests may wait
	fanOuts  chan *fanOutWait

	sweepEvery time.Duration // sweepEvery; less in tests
}

// NewWorker returns a worker; Run does the work.
func NewWorker(q *Queue, changes Changes, accepted Requests) *Worker {
	return &Worker{
		q: q, changes: changes, requests: accepted,
		fanOut: make(chan struct{}, 1), awaited: make(chan struct{}, 1), execute: make(chan struct{}, 1), fanOuts: make(chan *fanOutWait),
		sweepEvery: sweepEvery,
	}
}

// WakeFanOut signals that this process has committed something. It never blocks.
func (w *Worker) WakeFanOut() { signal(w.fanOut) }

// WakeExecute signals that this process has accepted a request. It never blocks.
func (w *Worker) WakeExecute() { signal(w.execute) }

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) error {
	changes := w.q.server(ctx, queueChanges, changesTasks)
	if err := changes.Start(w.changesMux()); err != nil {
		return fmt.Errorf("start the server of %s: %w", queueChanges, err)
	}
	defer changes.Shutdown()
	accepted := w.q.server(ctx, queueRequests, requestTasks)
	if err := accepted.Start(w.requestsMux()); err != nil {
		return fmt.Errorf("start the server of %s: %w", queueRequests, err)
	}
	defer accepted.Shutdown()
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){w.readHints, w.runFanOuts, w.runRequests, w.resolveFanOuts, w.runSweeps, w.measure} {
		parts.Go(func() { part(ctx) })
	}
	<-ctx.Done()
	parts.Wait()
	return nil
}

// readHints blocks on the list. While the worker fans out, it leaves further hints to other
// workers.
func (w *Worker) readHints(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := w.q.redis.BLPop(ctx, hintWait, hintList).Result()
		switch {
		case errors.Is(err, redis.Nil):
		case err != nil: // logged by the task server; the hook has waited
			w.q.metrics.hintErrors.Inc()
		default:
			w.q.metrics.hints.Inc()
			_ = w.run(ctx, workHint, w.changes.FanOut)
		}
	}
}

// runFanOuts fans out what this process has committed, and what tasks wait for. It also
// sweeps regularly, for which it needs only the database. With a backlog this takes minutes;
// nothing else waits for it.
func (w *Worker) runFanOuts(ctx context.Context) {
	for task := workSweepChanges; ; {
		_ = w.run(ctx, task, w.changes.FanOut)
		select {
		case <-ctx.Done():
			return
		case <-w.fanOut:
			w.q.metrics.hints.Inc()
			task = workHint
		case <-w.awaited:
			task = taskFanOut
		case <-w.untilSweep():
			task = workSweepChanges
		}
	}
}

// runRequests executes requests without a task, one after the other. Every sweep triggers it.
func (w *Worker) runRequests(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.execute:
			_ = w.run(ctx, workCarryOut, w.requests.ExecuteWaiting)
		}
	}
}

// untilSweep signals when a loop sweeps again. The interval varies, so that workers do not
// sweep at the same time.
func (w *Worker) untilSweep() <-chan time.Time {
	return time.After(w.sweepEvery*9/10 + rand.N(w.sweepEvery/5))
}

// runSweeps finds due deliveries and accepted requests. It needs only the database.
func (w *Worker) runSweeps(ctx context.Context) {
	for {
		w.WakeExecute()
		_ = w.run(ctx, workSweep, w.changes.Sweep)
		select {
		case <-ctx.Done():
			return
		case <-w.untilSweep():
		}
	}
}

// run runs work, and measures and logs it.
func (w *Worker) run(ctx context.Context, name string, work func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	began := time.Now()
	err := guarded(ctx, work)
	w.q.metrics.ran(name, err, time.Since(began))
	if err != nil && ctx.Err() == nil {
		w.q.log.Warn("work failed; it will be tried again", "task", name, "err", err)
	}
	return err
}

// guarded turns a panic of work into an error.
func guarded(ctx context.Context, work func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx)
}
