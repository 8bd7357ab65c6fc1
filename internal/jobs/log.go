package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// sayAgain is how often a lasting outage is told of.
const sayAgain = 10 * time.Second

// sparse lets one message through per sayAgain.
type sparse struct{ last atomic.Int64 }

func (s *sparse) passes() bool {
	now := time.Now().UnixNano()
	last := s.last.Load()
	return now-last > int64(sayAgain) && s.last.CompareAndSwap(last, now)
}

// taskLog hands the queue library's messages to slog. Its errors tell of Redis
// being away, which costs time and nothing else.
type taskLog struct {
	log    *slog.Logger
	errors *sparse
}

// Debug and the others are what the queue library asks of a logger.
func (l taskLog) Debug(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Info is told at Debug: the roles say themselves what they do.
func (l taskLog) Info(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Warn is told at Debug: it concerns single tasks, which are only hints.
func (l taskLog) Warn(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Error is told at Warn, and sparsely.
func (l taskLog) Error(args ...any) {
	if l.errors.passes() {
		l.log.Warn("queue", "message", fmt.Sprint(args...))
	}
}

// Fatal is told at Error; it ends nothing.
func (l taskLog) Fatal(args ...any) { l.log.Error("queue", "message", fmt.Sprint(args...)) }

// silent drops what the Redis client would print by itself: whoever called it
// gets the error too. It is set once, before any client exists, because the
// library keeps its logger in a global.
type silent struct{}

// Printf drops the message.
func (silent) Printf(context.Context, string, ...any) {}

var _ = func() bool {
	redis.SetLogger(silent{})
	return true
}()
