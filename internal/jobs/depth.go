package jobs

import (
	"context"
	"slices"

	"github.com/hibiken/asynq"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Depth is the number of tasks in all queues, by state.
type Depth struct {
	Pending   int // waiting for a worker
	Active    int // being handled
	Scheduled int // waiting for the time when they are due
	Retry     int // waiting for a retry
	Archived  int // failed permanently
}

// depth reads the number of tasks. It skips queues that do not exist, because a queue exists only
// after its first task.
func depth(inspector *asynq.Inspector) (d Depth, err error) {
	known, err := inspector.Queues()
	if err != nil {
		return d, err
	}
	for _, queue := range []string{queueChanges, queueRequests, queuePeriodic} {
		if !slices.Contains(known, queue) {
			continue
		}
		info, err := inspector.GetQueueInfo(queue)
		if err != nil {
			return d, err
		}
		d.Pending += info.Pending
		d.Active += info.Active
		d.Scheduled += info.Scheduled
		d.Retry += info.Retry
		d.Archived += info.Archived
	}
	return d, nil
}

// Depth returns the number of tasks. It returns an error of the kind fault.Transient when Redis
// does not answer before ctx ends.
func (c *Client) Depth(ctx context.Context) (Depth, error) {
	if err := c.q.Ping(ctx); err != nil { // the inspector's methods take no context
		return Depth{}, fault.Transientf(err, "redis does not answer")
	}
	d, err := depth(c.inspector)
	if err != nil {
		err = fault.Transientf(err, "redis does not answer")
	}
	return d, err
}
