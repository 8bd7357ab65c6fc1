package jobs

import (
	"context"
	"slices"

	"github.com/hibiken/asynq"

	"github.com/alds-dev/alds/internal/fault"
)

// Depth is how many tasks all queues have, by state.
type Depth struct {
	Pending   int // wait for a worker
	Active    int // are handled
	Scheduled int // wait for their time
	Retry     int // wait to be handled again
	Archived  int // are set aside
}

// depth reads how many tasks there are. A queue that nothing was ever put into does not
// exist.
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

// Depth returns how many tasks there are. Errors: fault.Transient when Redis does not
// answer before ctx ends.
func (c *Client) Depth(ctx context.Context) (Depth, error) {
	if err := c.q.Ping(ctx); err != nil { // the calls of the inspector have no context
		return Depth{}, fault.Transientf(err, "redis does not answer")
	}
	d, err := depth(c.inspector)
	if err != nil {
		err = fault.Transientf(err, "redis does not answer")
	}
	return d, err
}
