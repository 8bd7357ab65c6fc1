package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Work is what a worker is woken for. Every method may be called at any time,
// concurrently and for nothing.
type Work interface {
	FanOut(ctx context.Context) error
	Pull(ctx context.Context, subscription string) error
	Sweep(ctx context.Context) error
	// CarryOut carries out the requests that wait; it may take minutes.
	CarryOut(ctx context.Context) error
}

// Worker wakes Work: by hints, by tasks, and every two seconds by itself.
type Worker struct {
	q    *Queue
	work Work
	kick chan struct{} // holds one signal from this process
	load chan struct{} // holds one signal: requests may wait to be carried out
}

// NewWorker returns a worker; Run does the work.
func NewWorker(q *Queue, work Work) *Worker {
	return &Worker{q: q, work: work, kick: make(chan struct{}, 1), load: make(chan struct{}, 1)}
}

// Wake is a hint from within the process. It never blocks.
func (w *Worker) Wake() { signal(w.kick) }

// Carry is the hint from within the process that a request waits. It never
// blocks.
func (w *Worker) Carry() { signal(w.load) }

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) error {
	server := w.server(ctx)
	if err := server.Start(w.mux()); err != nil {
		return fmt.Errorf("start the task server: %w", err)
	}
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){w.hints, w.kicks, w.carries, w.sweeps, w.measure} {
		parts.Go(func() { part(ctx) })
	}
	<-ctx.Done()
	parts.Wait()
	server.Shutdown()
	return nil
}

func (w *Worker) server(ctx context.Context) *asynq.Server {
	return asynq.NewServerFromRedisClient(w.q.redis, asynq.Config{
		Concurrency:              4,
		Queues:                   map[string]int{queueName: 1},
		BaseContext:              func() context.Context { return ctx },
		TaskCheckInterval:        time.Second,
		DelayedTaskCheckInterval: time.Second,
		ShutdownTimeout:          time.Second,
		Logger:                   taskLog{w.q.log, &w.q.outage},
		LogLevel:                 asynq.WarnLevel,
	})
}

// mux holds the handlers. A task that cannot be read is set aside by the
// library; everything else ends well, whatever came of it.
func (w *Worker) mux() *asynq.ServeMux {
	mux := asynq.NewServeMux()
	mux.HandleFunc(taskFanOut, func(ctx context.Context, _ *asynq.Task) error {
		w.run(ctx, taskFanOut, w.work.FanOut)
		return nil
	})
	mux.HandleFunc(taskWake, func(ctx context.Context, t *asynq.Task) error {
		var p wakePayload
		if err := json.Unmarshal(t.Payload(), &p); err != nil {
			return fmt.Errorf("%s payload: %w: %w", t.Type(), err, asynq.SkipRetry)
		}
		w.run(ctx, taskWake, func(ctx context.Context) error { return w.work.Pull(ctx, p.Subscription) })
		return nil
	})
	return mux
}

// hints blocks on the list. While the worker fans out it leaves further hints
// to others.
func (w *Worker) hints(ctx context.Context) {
	for ctx.Err() == nil {
		hint, err := w.q.redis.BLPop(ctx, hintWait, hintList).Result()
		switch {
		case errors.Is(err, redis.Nil):
		case err != nil: // logged by the task server; the pause hook has waited
			w.q.metrics.hintErrors.Inc()
		case hint[1] == requestHint:
			w.q.metrics.hints.Inc()
			w.Carry()
		default:
			w.q.metrics.hints.Inc()
			w.run(ctx, "hint", w.work.FanOut)
		}
	}
}

func (w *Worker) kicks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
			w.q.metrics.hints.Inc()
			w.run(ctx, "hint", w.work.FanOut)
		}
	}
}

// carries carries requests out one after the other, beside everything else:
// each may take as long as a write may take. Every sweep makes it look.
func (w *Worker) carries(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.load:
			w.run(ctx, "carry_out", w.work.CarryOut)
		}
	}
}

// sweeps needs nothing but the database.
func (w *Worker) sweeps(ctx context.Context) {
	for {
		w.Carry()
		w.run(ctx, "sweep", w.work.Sweep)
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery*9/10 + rand.N(sweepEvery/5)):
		}
	}
}

// run calls one piece of work, counts it, and keeps a panic from ending the
// process.
func (w *Worker) run(ctx context.Context, name string, work func(context.Context) error) {
	if ctx.Err() != nil {
		return
	}
	began := time.Now()
	err := guarded(ctx, work)
	w.q.metrics.runs(name, err, time.Since(began))
	if err != nil && ctx.Err() == nil {
		w.q.log.Warn("work failed; it will be tried again", "task", name, "err", err)
	}
}

func guarded(ctx context.Context, work func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx)
}
