package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

// Client tells workers that there is something to do. None of its methods
// blocks or fails: what is not told is found by the workers' sweep.
type Client struct {
	q        *Queue
	tasks    *asynq.Client
	kick     chan struct{} // holds one signal: something was committed
	last     atomic.Int64  // newest audit told of
	accepted chan struct{} // holds one signal: a request is to be carried out
	wakes    chan wake
	local    atomic.Pointer[Worker]
	backedUp int64 // second of the last backup task; Run only
}

type wake struct {
	subscription string
	at           time.Time
}

// wakePayload is the payload of webhook:wake.
type wakePayload struct {
	Subscription string `json:"subscription"`
}

// NewClient returns a client; Run must be running for anything to be sent.
func NewClient(q *Queue) *Client {
	return &Client{
		q: q, tasks: asynq.NewClientFromRedisClient(q.redis),
		kick: make(chan struct{}, 1), accepted: make(chan struct{}, 1), wakes: make(chan wake, 1000),
	}
}

// Attach sends hints straight to a worker in this process.
func (c *Client) Attach(w *Worker) { c.local.Store(w) }

// Committed tells that a write has been committed.
func (c *Client) Committed(auditID int64) {
	if w := c.local.Load(); w != nil {
		w.Wake()
		return
	}
	c.last.Store(auditID)
	signal(c.kick)
}

// signal leaves a signal; one that is not yet taken tells of this one too.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Accepted tells that a request is to be carried out by a worker.
func (c *Client) Accepted() {
	if w := c.local.Load(); w != nil {
		w.Carry()
		return
	}
	signal(c.accepted)
}

// WakeAt tells that a subscription has a delivery due at a later time.
func (c *Client) WakeAt(subscription string, at time.Time) {
	select {
	case c.wakes <- wake{subscription, at}:
	default:
		c.q.metrics.dropped.Inc()
	}
}

// Run sends until ctx ends.
func (c *Client) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.kick:
			c.hint(ctx)
		case <-c.accepted:
			_ = c.push(ctx, "request", requestHint) // counted there; the sweep makes it good
		case w := <-c.wakes:
			c.wake(ctx, w)
		}
	}
}

// hint wakes one worker now and, at most once a second, leaves a backup task.
func (c *Client) hint(ctx context.Context) {
	err := c.push(ctx, "hint", c.last.Load())
	if now := time.Now().Unix(); err == nil && now != c.backedUp {
		c.backedUp = now
		c.enqueue(ctx, asynq.NewTask(taskFanOut, nil), taskFanOut+":"+strconv.FormatInt(now, 10), time.Now().Add(backupDelay))
	}
}

// push leaves a hint in the list.
func (c *Client) push(ctx context.Context, what string, hint any) error {
	pipe := c.q.redis.Pipeline()
	pipe.RPush(ctx, hintList, hint)
	pipe.LTrim(ctx, hintList, -keptHints, -1)
	_, err := pipe.Exec(ctx)
	c.sent(ctx, what, err)
	return err
}

func (c *Client) wake(ctx context.Context, w wake) {
	payload, err := json.Marshal(wakePayload{Subscription: w.subscription})
	if err != nil {
		c.q.log.Error("task not made", "task", taskWake, "err", err)
		return
	}
	at := w.at.Add(time.Second - 1).Truncate(time.Second) // the library cuts to seconds
	id := taskWake + ":" + w.subscription + ":" + strconv.FormatInt(at.Unix(), 10)
	c.enqueue(ctx, asynq.NewTask(taskWake, payload), id, at)
}

// enqueue leaves a task; one with the same id is already there for the same
// purpose.
func (c *Client) enqueue(ctx context.Context, task *asynq.Task, id string, at time.Time) {
	_, err := c.tasks.EnqueueContext(ctx, task, asynq.Queue(queueName), asynq.TaskID(id), asynq.ProcessAt(at),
		asynq.MaxRetry(maxRetry), asynq.Timeout(taskTimeout))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		err = nil
	}
	c.sent(ctx, task.Type(), err)
}

func (c *Client) sent(ctx context.Context, what string, err error) {
	switch {
	case err == nil:
		c.q.metrics.sent.WithLabelValues(what).Inc()
	case ctx.Err() == nil:
		c.q.metrics.unsent.WithLabelValues(what).Inc()
		if c.q.outage.passes() {
			c.q.log.Warn("not sent to the queue; the sweep makes it good", "what", what, "err", err)
		}
	}
}
