package jobs

import "time"

// The names in Redis.
const (
	hintList = "alds:{hints}"

	queueChanges  = "alds"          // for workers: fan-outs and wakes
	queueRequests = "alds-requests" // for workers: accepted requests, one at a time in each worker
	queuePeriodic = "alds-periodic" // for schedulers

	taskFanOut  = "changes:fanout"
	taskWake    = "webhook:wake"
	taskExecute = "request:execute"
)

// The names of work without a task, for metrics.
const (
	workHint         = "hint"
	workSweep        = "sweep"
	workSweepChanges = "sweep_changes"
	workCarryOut     = "carry_out"
)

// Limits of what Redis holds. maxPending limits waiting tasks, and the retentions limit
// completed tasks. The library limits archived tasks to 10,000 in each queue.
const (
	maxHints          = 64          // hints in the list; more hints would not wake more workers
	maxBacklog        = 10_000      // tasks that a client holds in memory
	maxPending        = 10_000      // waiting tasks in the queue
	pendingAge        = time.Second // how long a client uses the number of waiting tasks that it has read
	retention         = time.Minute // of completed fan-outs and wakes
	requestRetention  = time.Hour
	periodicRetention = time.Hour
)

const (
	hintWait         = time.Second            // of one blocking read; limits the time to shut down
	sweepEvery       = 2 * time.Second        // in every worker
	redisTimeout     = 2 * time.Second        // of one command
	errorPause       = 250 * time.Millisecond // after a failed command
	drainTimeout     = time.Second            // for the remaining tasks of a client that stops
	lookupEvery      = 100 * time.Millisecond // interval for reading the progress of fan-outs
	pollEvery        = 100 * time.Millisecond // interval for looking for waiting tasks
	scheduledEvery   = time.Second            // interval for looking for scheduled tasks that are due
	taskTimeout      = time.Minute
	executeTimeout   = time.Hour
	retryDelay       = 5 * time.Second
	maxRetry         = 25 // retries of a task whose worker died or whose work failed
	changesTasks     = 64 // tasks handled at once; most of them only wait for their fan-out
	requestTasks     = 1
	periodicTasks    = 4
	refreshQueueName = time.Minute // interval at which a client registers its queues again
)
