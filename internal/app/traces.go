package app

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/base/tracing"
)

// logTracesEvery is how often an endpoint that takes no traces is logged.
const logTracesEvery = 10 * time.Second

// restOfGrace returns how long the process may still take to end; a long time before it
// was told to, as where a part of it ended by itself.
func (s *service) restOfGrace() time.Duration {
	told := s.told.Load()
	if told == 0 {
		return time.Minute
	}
	return max(0, s.cfg.ShutdownGrace-time.Since(time.Unix(0, told)))
}

// openTracer opens the endpoint of traces, where there is one.
func (s *service) openTracer(ctx context.Context) (err error) {
	if !s.cfg.Traces {
		return nil
	}
	log := s.component("tracing")
	var logged atomic.Int64 // UTC nanoseconds
	s.tracer, err = tracing.Open(ctx, s.role.name, version(), func(err error) {
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
