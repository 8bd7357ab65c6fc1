package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hibiken/asynq"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/write/requests"
)

// errNotDone is the error of a task that must run again but has not failed. Another worker does the
// work of the task, or the work has to wait.
var errNotDone = errors.New("not done yet")

// server returns a server that handles the tasks of one queue. A task is retried until its work has
// ended according to the database. Only failures count toward the maximum number of retries.
func (q *Queue) server(ctx context.Context, queue string, concurrency int) *asynq.Server {
	return asynq.NewServerFromRedisClient(q.redis, asynq.Config{
		Concurrency:              concurrency,
		Queues:                   map[string]int{queue: 1},
		BaseContext:              func() context.Context { return ctx },
		TaskCheckInterval:        pollEvery,
		DelayedTaskCheckInterval: scheduledEvery,
		ShutdownTimeout:          time.Second,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return retryDelay },
		IsFailure: func(err error) bool {
			return !errors.Is(err, errNotDone) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) &&
				fault.KindOf(err) != fault.Transient
		},
		Logger:   taskLog{q.log, &q.outage},
		LogLevel: asynq.WarnLevel,
	})
}

// result is the result of a completed task, which monitoring tools of the queue show.
type result struct {
	Rows     int64   `json:"rows,omitempty"` // versions fanned out, or commands executed
	Duration float64 `json:"duration_ms"`
	Refused  string  `json:"refused,omitempty"` // why the whole request was refused; empty: the request was executed
}

// handle returns a handler that decodes the payload, calls work and writes the result. A task with
// an invalid payload or without its database row is archived at once.
func handle[P any](work func(ctx context.Context, payload P) (result, error)) asynq.HandlerFunc {
	return func(ctx context.Context, t *asynq.Task) error {
		var payload P
		if err := json.Unmarshal(t.Payload(), &payload); err != nil {
			return fmt.Errorf("%s payload: %w: %w", t.Type(), err, asynq.SkipRetry)
		}
		began := time.Now()
		r, err := work(ctx, payload)
		if fault.KindOf(err) == fault.NotFound {
			return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
		}
		if err != nil {
			return err
		}
		r.Duration = float64(time.Since(began).Microseconds()) / 1000
		text, err := json.Marshal(r)
		if err == nil {
			_, err = t.ResultWriter().Write(text)
		}
		return err
	}
}

func (w *Worker) changesMux() *asynq.ServeMux {
	mux := asynq.NewServeMux()
	mux.HandleFunc(taskFanOut, handle(w.awaitFanOut))
	mux.HandleFunc(taskWake, handle(func(ctx context.Context, p wakePayload) (result, error) {
		return result{}, w.run(ctx, taskWake, func(ctx context.Context) error { return w.changes.Pull(ctx, p.Subscription) })
	}))
	return mux
}

func (w *Worker) requestsMux() *asynq.ServeMux {
	mux := asynq.NewServeMux()
	mux.HandleFunc(taskExecute, handle(func(ctx context.Context, p executePayload) (r result, err error) {
		var s requests.State
		err = w.run(ctx, taskExecute, func(ctx context.Context) (err error) {
			s, err = w.requests.Execute(ctx, p.Request)
			return err
		})
		if err == nil && !s.Done {
			err = errNotDone
		}
		if s.Err != nil {
			r.Refused = s.Err.Error()
		}
		r.Rows = int64(s.Commands)
		return r, err
	}))
	return mux
}

// fanOutWait is a handler that waits for the fan-out of one row of the table audit.
type fanOutWait struct {
	audit int64
	ended <-chan struct{}  // closed when the handler no longer waits
	reply chan fanOutReply // holds one reply
}

type fanOutReply struct {
	result
	err error
}

func (w *Worker) awaitFanOut(ctx context.Context, p fanOutPayload) (result, error) {
	t := &fanOutWait{p.Audit, ctx.Done(), make(chan fanOutReply, 1)}
	select {
	case w.fanOuts <- t:
	case <-ctx.Done():
		return result{}, ctx.Err()
	}
	select {
	case r := <-t.reply:
		return r.result, r.err
	case <-ctx.Done():
		return result{}, ctx.Err()
	}
}

// resolveFanOuts replies to all waiting handlers until ctx ends. One statement reads the progress
// of all their fan-outs.
func (w *Worker) resolveFanOuts(ctx context.Context) {
	var open []*fanOutWait
	for {
		var again <-chan time.Time
		if len(open) > 0 {
			again = time.After(lookupEvery)
		}
		select {
		case <-ctx.Done():
			return
		case t := <-w.fanOuts:
			open = append(open, t)
		case <-again:
		}
		for more := true; more; {
			select {
			case t := <-w.fanOuts:
				open = append(open, t)
			default:
				more = false
			}
		}
		if open = w.answer(ctx, open); len(open) > 0 {
			signal(w.awaited)
		}
	}
}

// answer replies to the handlers whose fan-out has ended or failed. It returns the handlers that
// still wait.
func (w *Worker) answer(ctx context.Context, open []*fanOutWait) []*fanOutWait {
	audits := make([]int64, len(open))
	for i, t := range open {
		audits[i] = t.audit
	}
	states, err := w.changes.FanOutStates(ctx, audits)
	byAudit := make(map[int64]webhook.FanOutState, len(states))
	for _, s := range states {
		byAudit[s.Audit] = s
	}
	return slices.DeleteFunc(open, func(t *fanOutWait) bool {
		s, found := byAudit[t.audit]
		r := fanOutReply{result: result{Rows: s.Versions}}
		switch {
		case err != nil:
			r.err = err
		case !found:
			r.err = fault.NotFoundf("there is no audit %d", t.audit)
		case s.SetAside:
			r.err = fmt.Errorf("%s: %w", s.Error, asynq.SkipRetry)
		case !s.Done && s.Error != "":
			r.err = errors.New(s.Error)
		case !s.Done:
			return hasEnded(t.ended)
		}
		t.reply <- r
		return true
	})
}

func hasEnded(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
