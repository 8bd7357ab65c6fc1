package jobs

import (
	"context"
	"time"
)

const (
	watchEvery = time.Second     // how often Redis is asked whether it answers
	watchLimit = 5 * time.Second // of one answer
)

// Watch logs once that Redis does not answer, and once that it does again, until ctx
// ends. What fails meanwhile is not logged beside it.
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
			q.log.Error("Redis does not answer (REDIS_URL): nothing is lost, and events and accepted requests wait for the sweep, some seconds, until it does", "err", err)
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
