package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Periodic is work done again and again. Run may be running elsewhere at the
// same time; doing it twice must do no harm.
type Periodic struct {
	Name  string
	Every time.Duration
	Run   func(ctx context.Context) error
}

// Scheduler runs periodic work. It needs no Redis and no leader: two of them do
// everything twice, which has no effect.
type Scheduler struct {
	tasks   []Periodic
	log     *slog.Logger
	metrics *periodicMetrics
}

// NewScheduler returns a scheduler for the tasks.
func NewScheduler(log *slog.Logger, registerer Registerer, tasks ...Periodic) *Scheduler {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{tasks: tasks, log: log, metrics: newPeriodicMetrics(registerer)}
}

// Run does the work until ctx ends; every task runs once at the start.
func (s *Scheduler) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, p := range s.tasks {
		all.Go(func() { s.loop(ctx, p) })
	}
	all.Wait()
	return nil
}

func (s *Scheduler) loop(ctx context.Context, p Periodic) {
	for {
		began := time.Now()
		err := guarded(ctx, p.Run)
		if ctx.Err() != nil {
			return
		}
		s.metrics.ran(p.Name, err, time.Since(began))
		if err != nil {
			s.log.Warn("periodic work failed; it will be tried again", "task", p.Name, "err", err)
		} else {
			s.log.Debug("periodic work", "task", p.Name, "duration_ms", time.Since(began).Milliseconds())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(p.Every*9/10 + rand.N(p.Every/5+1)):
		}
	}
}
