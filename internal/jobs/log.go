package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// logEvery is the minimum interval between logged failures while Redis answers.
const logEvery = 10 * time.Second

// logLimit allows one message per logEvery. While Redis does not answer, it allows no message,
// because Watch logs the outage.
type logLimit struct {
	last    atomic.Int64 // time of the last message; ns since 1970
	answers atomic.Bool  // true: Redis answered the last check of Watch
}

func (l *logLimit) allow() bool {
	if !l.answers.Load() {
		return false
	}
	now := time.Now().UnixNano()
	last := l.last.Load()
	return now-last > int64(logEvery) && l.last.CompareAndSwap(last, now)
}

// taskLog passes the messages of the queue library to slog. The library logs an error when Redis
// has refused a command. That only delays work.
type taskLog struct {
	log    *slog.Logger
	errors *logLimit
}

// Debug and the other methods implement asynq.Logger.
func (l taskLog) Debug(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Info logs at level debug, because workers and schedulers log their work themselves.
func (l taskLog) Info(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Warn logs at level debug, because the message is about a single task, which monitoring tools of
// the queue show.
func (l taskLog) Warn(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Error logs at level warn, as often as the limit allows.
func (l taskLog) Error(args ...any) {
	if l.errors.allow() {
		l.log.Warn("queue", "message", fmt.Sprint(args...))
	}
}

// Fatal logs at level error and does not end the process.
func (l taskLog) Fatal(args ...any) { l.log.Error("queue", "message", fmt.Sprint(args...)) }

// silent drops the messages of the Redis client, because the callers of the client get the same
// errors. The logger of the client is global, so it is set once, before any client exists.
type silent struct{}

// Printf drops the message.
func (silent) Printf(context.Context, string, ...any) {}

var _ = func() bool {
	redis.SetLogger(silent{})
	return true
}()
