package jobs

import (
	"context"
	"time"
)

const (
	watchEvery = time.Second     // interval of the checks of Redis
	watchLimit = 5 * time.Second // time limit of one check
)

// Watch checks Redis until ctx ends. It logs once when Redis stops answering, and once when
// Redis answers again. Between these two messages, the Queue logs no other failures of Redis.
func (q *Queue) Watch(ctx context.Context) error {
	away := false
	for {
		err := q.pingWithin(ctx, watchLimit)
		if ctx.Err() != nil {
			return nil
		}
		q.outage.answers.Store(err == nil)
		switch {
		case err != nil && !away:
			q.log.Error("Redis does not answer (REDIS_URL): nothing is lost, but events and accepted requests wait some seconds for a sweep until Redis answers", "err", err)
		case err == nil && away:
			q.log.Info("Redis answers again")
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

func (q *Queue) pingWithin(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return q.Ping(ctx)
}
