package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/alds-dev/alds/internal/base/tracing"
)

// Periodic is work that is done repeatedly. Several processes may call Run at the same time, so it
// must do no harm to do the work twice.
type Periodic struct {
	Name  string        // name of the task
	Every time.Duration // average time between runs
	Run   func(ctx context.Context) error
}

// Scheduler runs periodic work. Each run is a task of the queue. If Redis does not answer, the
// scheduler runs the work directly. There is no leader: two schedulers do most work twice, and the
// second run changes nothing.
type Scheduler struct {
	q       *Queue
	client  *asynq.Client
	work    []Periodic
	log     *slog.Logger
	metrics *periodicMetrics
}

// NewScheduler returns a scheduler for the work. log and registerer may be nil.
func NewScheduler(q *Queue, log *slog.Logger, registerer Registerer, work ...Periodic) *Scheduler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{q: q, client: asynq.NewClientFromRedisClient(q.redis), work: work, log: log, metrics: newPeriodicMetrics(registerer)}
}

// Run does the work until ctx ends. All work runs once at the start.
func (s *Scheduler) Run(ctx context.Context) error {
	mux := asynq.NewServeMux()
	for _, p := range s.work {
		s.metrics.starts(p)
		mux.HandleFunc(p.Name, handle(func(ctx context.Context, _ struct{}) (result, error) { return result{}, s.run(ctx, p) }))
	}
	server := s.q.server(ctx, queuePeriodic, periodicTasks)
	if err := server.Start(mux); err != nil {
		return fmt.Errorf("start the server of %s: %w", queuePeriodic, err)
	}
	defer server.Shutdown()
	var all sync.WaitGroup
	for _, p := range s.work {
		all.Go(func() { s.loop(ctx, p) })
	}
	all.Wait()
	return nil
}

// loop enqueues one run per period. If Redis does not answer, loop runs the work directly. The
// length of a period varies by a tenth, so that schedulers do not run at the same time.
func (s *Scheduler) loop(ctx context.Context, p Periodic) {
	for ctx.Err() == nil {
		enqueued := s.q.enqueue(ctx, s.client, periodicTask(p.Name, time.Now()))
		if !enqueued {
			_ = s.run(ctx, p)
		}
		select {
		case <-ctx.Done():
		case <-time.After(p.Every*9/10 + rand.N(p.Every/5+1)):
		}
	}
}

func (s *Scheduler) run(ctx context.Context, p Periodic) error {
	began := time.Now()
	within, span := tracing.Start(ctx, p.Name)
	err := guarded(within, p.Run)
	span.End(err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.metrics.ran(p.Name, err, time.Since(began))
	if err != nil {
		s.log.Warn("periodic work failed; it will be tried again", "task", p.Name, "err", err)
	} else {
		s.log.Debug("periodic work", "task", p.Name, "duration_ms", time.Since(began).Milliseconds())
	}
	return err
}
