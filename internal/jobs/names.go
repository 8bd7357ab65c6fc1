package jobs

import "time"

// The names of the list, the queues and the tasks in Redis.
const (
	hintList = "alds:{hints}"

	queueChanges  = "alds"          // handled by workers: fan-outs, and wakes of deliveries
	queueRequests = "alds-requests" // handled by workers: accepted requests, one at a time in each worker
	queuePeriodic = "alds-periodic" // handled by schedulers

	taskFanOut  = "changes:fanout"
	taskWake    = "webhook:wake"
	taskExecute = "request:execute"
)

// The names of work that has no task. They are labels of metrics.
const (
	workHint         = "hint"
	workSweep        = "sweep"
	workSweepChanges = "sweep_changes"
	workCarryOut     = "carry_out"
)

// These constants limit the amount of data in Redis. maxPending limits waiting tasks, and the
// retentions limit completed tasks. The library limits archived tasks to 10,000 in each queue.
const (
	maxHints          = 64          // hints in the list; more hints would not wake more workers
	maxBacklog        = 10_000      // tasks that a client holds in memory
	maxPending        = 10_000      // waiting tasks in the queue
	pendingAge        = time.Second // how long a client uses the last number of waiting tasks that it read
	retention         = time.Minute // how long completed fan-outs and wakes are stored
	requestRetention  = time.Hour
	periodicRetention = time.Hour
)

const (
	hintWait         = time.Second            // time limit of one blocking read; a worker may need this long to stop
	sweepEvery       = 2 * time.Second        // interval of the sweeps of each worker
	redisTimeout     = 2 * time.Second        // time limit of one command
	errorPause       = 250 * time.Millisecond // pause after a failed command
	drainTimeout     = time.Second            // time limit for sending the remaining tasks of a client that stops
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
