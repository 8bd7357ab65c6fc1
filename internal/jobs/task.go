package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
)

// task is a task to be enqueued. Its full id is typ:id. The queue never has two tasks with the same
// full id.
type task struct {
	queue, typ, id string
	payload        any
	at             time.Time     // when the task is due; zero: now
	retention      time.Duration // how long the completed task is stored
	timeout        time.Duration
	maxRetry       int
}

func (t task) fullID() string { return t.typ + ":" + t.id }

type fanOutPayload struct {
	Audit int64  `json:"audit"`
	Write string `json:"write"` // id of the write, for people who look at the task
}

func fanOutTask(audit int64, write string) task {
	return task{
		queue: queueChanges, typ: taskFanOut, id: strconv.FormatInt(audit, 10), payload: fanOutPayload{audit, write},
		retention: retention, timeout: taskTimeout, maxRetry: maxRetry,
	}
}

type wakePayload struct {
	Subscription string `json:"subscription"`
}

// wakeTask returns a task that is due at the time at, rounded up to a full second. Without this the
// library would round down.
func wakeTask(subscription string, at time.Time) task {
	at = at.Add(time.Second - 1).Truncate(time.Second)
	return task{
		queue: queueChanges, typ: taskWake, id: subscription + ":" + strconv.FormatInt(at.Unix(), 10), payload: wakePayload{subscription},
		at: at, retention: retention, timeout: taskTimeout, maxRetry: maxRetry,
	}
}

type executePayload struct {
	Request string `json:"request"`
}

func executeTask(request string) task {
	return task{
		queue: queueRequests, typ: taskExecute, id: request, payload: executePayload{request},
		retention: requestRetention, timeout: executeTimeout, maxRetry: maxRetry,
	}
}

// periodicTask returns a task for one run of periodic work. The task is not retried, because the
// next run does the work.
func periodicTask(name string, now time.Time) task {
	return task{
		queue: queuePeriodic, typ: name, id: strconv.FormatInt(now.Unix(), 10), payload: struct{}{},
		retention: periodicRetention, timeout: taskTimeout,
	}
}

// enqueue puts a task into the queue, and reports whether this succeeded. It also returns true if
// the queue already has a task with the same id.
func (q *Queue) enqueue(ctx context.Context, to *asynq.Client, t task) bool {
	payload, err := json.Marshal(t.payload)
	if err == nil {
		_, err = to.EnqueueContext(ctx, asynq.NewTask(t.typ, payload), asynq.Queue(t.queue), asynq.TaskID(t.fullID()),
			asynq.ProcessAt(t.at), asynq.MaxRetry(t.maxRetry), asynq.Timeout(t.timeout), asynq.Retention(t.retention))
	}
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		err = nil
	}
	q.sent(ctx, t.typ, err)
	return err == nil
}
