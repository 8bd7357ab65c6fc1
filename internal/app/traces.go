package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/base/tracing"
)

// logTracesEvery is the minimum time between two log lines about traces that were not sent.
const logTracesEvery = 10 * time.Second

// restOfGrace returns how long the process may still take to stop. That is one minute if there
// was no stop signal, for example because a part of the process failed.
func (s *service) restOfGrace() time.Duration {
	told := s.told.Load()
	if told == 0 {
		return time.Minute
	}
	return max(0, s.cfg.ShutdownGrace-time.Since(time.Unix(0, told)))
}

// openTracer opens the tracer if an endpoint for traces is set.
func (s *service) openTracer(ctx context.Context) (err error) {
	if !s.cfg.Traces {
		return nil
	}
	log := s.component("tracing")
	var logged atomic.Int64 // time of the last log line in Unix nanoseconds
	s.tracer, err = tracing.Open(ctx, s.role.Name, release.Version(), func(err error) {
		now, last := time.Now().UnixNano(), logged.Load()
		if now-last > int64(logTracesEvery) && logged.CompareAndSwap(last, now) {
			log.Warn("traces were not sent", "err", err)
		}
	})
	if err == nil {
		s.closers = append(s.closers, func() error { return s.tracer.Close(s.restOfGrace()) })
	}
	return err
}
