package jobs

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

// Client puts tasks into the queue and wakes workers. Committed, Accepted and WakeAt never block
// and return no error. If a task does not reach the queue, the regular sweep of a worker finds its
// work in the database.
type Client struct {
	q         *Queue
	tasks     *asynq.Client
	inspector *asynq.Inspector
	hints     chan struct{} // holds at most one signal: there was a commit
	lastAudit atomic.Int64  // audit id of the last commit
	backlog   chan task     // tasks that wait until Run sends them
	local     atomic.Pointer[Worker]

	maxPending int // the constant maxPending, or less in tests

	// Only Run uses these fields.
	pendingAt time.Time // when isFull was computed
	isFull    bool      // last result of the method full
}

// NewClient returns a client. It sends hints and tasks only while Run is running.
func NewClient(q *Queue) *Client {
	return &Client{
		q: q, tasks: asynq.NewClientFromRedisClient(q.redis), inspector: asynq.NewInspectorFromRedisClient(q.redis),
		hints: make(chan struct{}, 1), backlog: make(chan task, maxBacklog), maxPending: maxPending,
	}
}

// Attach sets a worker of this process that the client wakes directly. The client then sends no
// hints, and no tasks for commits and requests.
func (c *Client) Attach(w *Worker) { c.local.Store(w) }

// Committed must be called after each commit. auditID is the id of the row of this commit in the
// table audit, and write is the id of the committed write.
func (c *Client) Committed(auditID int64, write string) {
	if w := c.local.Load(); w != nil {
		signal(w.fanOut)
		return
	}
	c.lastAudit.Store(auditID)
	signal(c.hints)
	c.add(fanOutTask(auditID, write))
}

// signal puts a signal into a channel. It does nothing if the channel already has a signal.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Accepted must be called after a request was accepted for asynchronous execution.
func (c *Client) Accepted(id string) {
	if w := c.local.Load(); w != nil {
		signal(w.execute)
		return
	}
	c.add(executeTask(id))
}

// WakeAt schedules a task that sends the due deliveries of a subscription.
func (c *Client) WakeAt(subscription string, at time.Time) {
	c.add(wakeTask(subscription, at))
}

func (c *Client) add(t task) {
	select {
	case c.backlog <- t:
	default:
		c.q.metrics.dropped.Inc()
	}
}

// Run sends hints and tasks to Redis until ctx ends. Then it sends the remaining tasks, for at most
// one second.
func (c *Client) Run(ctx context.Context) error {
	refresh := time.NewTicker(refreshQueueName)
	defer refresh.Stop()
	for {
		select { // hints are sent before tasks
		case <-c.hints:
			c.pushHint(ctx)
			continue
		default:
		}
		select {
		case <-ctx.Done():
			c.drain(context.WithoutCancel(ctx))
			return nil
		case <-c.hints:
			c.pushHint(ctx)
		case t := <-c.backlog:
			c.enqueue(ctx, t)
		case <-refresh.C: // a new client registers its queues again, in case Redis was emptied
			c.tasks = asynq.NewClientFromRedisClient(c.q.redis)
		}
	}
}

func (c *Client) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for len(c.backlog) > 0 && ctx.Err() == nil {
		c.enqueue(ctx, <-c.backlog)
	}
}

// pushHint adds a hint to the list in Redis. The hint wakes one worker.
func (c *Client) pushHint(ctx context.Context) {
	pipe := c.q.redis.Pipeline()
	pipe.RPush(ctx, hintList, c.lastAudit.Load())
	pipe.LTrim(ctx, hintList, -maxHints, -1)
	_, err := pipe.Exec(ctx)
	c.q.sent(ctx, workHint, err)
}

func (c *Client) enqueue(ctx context.Context, t task) {
	if t.at.IsZero() && c.full() {
		c.q.metrics.dropped.Inc()
		return
	}
	c.q.enqueue(ctx, c.tasks, t)
}

// full reports whether more than maxPending tasks wait for workers. The client then drops further
// tasks that are due at once; the sweep finds their work.
func (c *Client) full() bool {
	if now := time.Now(); now.Sub(c.pendingAt) > pendingAge {
		info, err := c.inspector.GetQueueInfo(queueChanges)
		c.pendingAt, c.isFull = now, err == nil && info.Pending > c.maxPending
	}
	return c.isFull
}

func (q *Queue) sent(ctx context.Context, task string, err error) {
	switch {
	case err == nil:
		q.metrics.sent.WithLabelValues(task).Inc()
	case ctx.Err() == nil:
		q.metrics.unsent.WithLabelValues(task).Inc()
		if q.outage.allow() {
			q.log.Warn("not sent to the queue; the sweep finds the work", "task", task, "err", err)
		}
	}
}
