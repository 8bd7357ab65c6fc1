package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// logEvery is how often failures are logged while Redis answers.
const logEvery = 10 * time.Second

// logLimit allows one message per logEvery, and none while Redis does not answer,
// which Watch logs.
type logLimit struct {
	last    atomic.Int64
	answers atomic.Bool
}

func (l *logLimit) allow() bool {
	if !l.answers.Load() {
		return false
	}
	now := time.Now().UnixNano()
	last := l.last.Load()
	return now-last > int64(logEvery) && l.last.CompareAndSwap(last, now)
}

// taskLog hands the queue library's messages to slog. Its errors report that
// Redis refuses something, which only delays work.
type taskLog struct {
	log    *slog.Logger
	errors *logLimit
}

// Debug and the others implement asynq.Logger.
func (l taskLog) Debug(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Info is logged at debug: the roles log what they do.
func (l taskLog) Info(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Warn is logged at debug: it concerns single tasks, which the tools show.
func (l taskLog) Warn(args ...any) { l.log.Debug("queue", "message", fmt.Sprint(args...)) }

// Error is logged at warn, as often as the limit allows.
func (l taskLog) Error(args ...any) {
	if l.errors.allow() {
		l.log.Warn("queue", "message", fmt.Sprint(args...))
	}
}

// Fatal is logged at error and does not end the process.
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
