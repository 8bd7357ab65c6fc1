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

// Changes fans out changes and sends deliveries. Every method may be called at any time,
// concurrently, and also when there is no work.
type Changes interface {
	// FanOut fans out all committed changes that were not fanned out yet.
	FanOut(ctx context.Context) error
	// FanOutStates returns the progress of the fan-outs of the given audits.
	FanOutStates(ctx context.Context, audits []int64) ([]webhook.FanOutState, error)
	// Pull starts to send the due deliveries of one subscription.
	Pull(ctx context.Context, subscription string) error
	// Sweep starts to send the due deliveries of all subscriptions. It does not wait for
	// fan-outs.
	Sweep(ctx context.Context) error
}

// Requests executes accepted requests, which may take minutes.
type Requests interface {
	// Execute executes one request, unless the request is done or another worker executes it.
	// It returns the state of the request.
	Execute(ctx context.Context, id string) (requests.State, error)
	// ExecuteWaiting executes the accepted requests that wait, one after the other.
	ExecuteWaiting(ctx context.Context) error
}

// Worker calls Changes and Requests when a hint or task arrives, and in sweeps every two seconds.
// Fan-outs, deliveries and requests have separate loops.
type Worker struct {
	q        *Queue
	changes  Changes
	requests Requests
	fanOut   chan struct{}    // holds at most one signal: this process has committed a change
	awaited  chan struct{}    // holds at most one signal: tasks wait for their fan-out
	execute  chan struct{}    // holds at most one signal: requests may wait
	fanOuts  chan *fanOutWait // handlers send to it, and resolveFanOuts receives

	sweepEvery time.Duration // the constant sweepEvery, or less in tests
}

// NewWorker returns a worker. It does nothing until Run is called.
func NewWorker(q *Queue, changes Changes, accepted Requests) *Worker {
	return &Worker{
		q: q, changes: changes, requests: accepted,
		fanOut: make(chan struct{}, 1), awaited: make(chan struct{}, 1), execute: make(chan struct{}, 1), fanOuts: make(chan *fanOutWait),
		sweepEvery: sweepEvery,
	}
}

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

// readHints reads hints from the list in Redis, and fans out after each hint. During a fan-out it
// reads no hints, so other workers get them.
func (w *Worker) readHints(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := w.q.redis.BLPop(ctx, hintWait, hintList).Result()
		switch {
		case errors.Is(err, redis.Nil):
		case err != nil: // the task server logs the error, and pauseHook has waited
			w.q.metrics.hintErrors.Inc()
		default:
			w.q.metrics.hints.Inc()
			_ = w.run(ctx, workHint, w.changes.FanOut)
		}
	}
}

// runFanOuts fans out in three cases: this process has committed a change, tasks wait for a
// fan-out, or the time of a sweep has come. Sweeps need only the database. One fan-out may take
// minutes if many changes wait. Other work does not wait for a fan-out.
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

// runRequests executes the waiting requests at each sweep, and when this process has accepted a
// request. It needs no tasks.
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

// untilSweep returns a channel that receives when the next sweep is due. The interval varies, so
// that workers do not sweep at the same time.
func (w *Worker) untilSweep() <-chan time.Time {
	return time.After(w.sweepEvery*9/10 + rand.N(w.sweepEvery/5))
}

// runSweeps starts the sending of due deliveries and wakes runRequests at regular intervals. It
// needs only the database.
func (w *Worker) runSweeps(ctx context.Context) {
	for {
		signal(w.execute)
		_ = w.run(ctx, workSweep, w.changes.Sweep)
		select {
		case <-ctx.Done():
			return
		case <-w.untilSweep():
		}
	}
}

// run runs work, measures its duration, and logs its error.
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
