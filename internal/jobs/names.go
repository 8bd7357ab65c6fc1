package jobs

import "time"

// The names in Redis.
const (
	hintList = "alds:{hints}"

	queueChanges  = "alds"          // of workers: fan-outs and wakes
	queueRequests = "alds-requests" // of workers: accepted requests, one at a time in each
	queuePeriodic = "alds-periodic" // of schedulers

	taskFanOut  = "changes:fanout"
	taskWake    = "webhook:wake"
	taskExecute = "request:execute"
)

// The names of what is no task, for metrics.
const (
	workHint         = "hint"
	workSweep        = "sweep"
	workSweepChanges = "sweep_changes"
	workCarryOut     = "carry_out"
)

// What Redis holds is bounded: tasks that wait by maxPending, completed ones by
// their retention, archived ones by the library (10,000 of each queue).
const (
	maxHints          = 64 // in the list; one more would wake nobody else
	maxBacklog        = 10_000
	maxPending        = 10_000
	pendingAge        = time.Second // of the number of pending tasks that is compared with maxPending
	retention         = time.Minute // of fan-outs and wakes
	requestRetention  = time.Hour
	periodicRetention = time.Hour
)

const (
	hintWait         = time.Second     // of one blocking read; bounds the time to shut down
	sweepEvery       = 2 * time.Second // of every worker
	redisTimeout     = 2 * time.Second // of one command
	errorPause       = 250 * time.Millisecond
	drainTimeout     = time.Second
	lookupEvery      = 100 * time.Millisecond // at fan-outs that are not done
	pollEvery        = 100 * time.Millisecond // for pending tasks
	scheduledEvery   = time.Second            // for scheduled tasks that are due
	taskTimeout      = time.Minute
	executeTimeout   = time.Hour
	retryDelay       = 5 * time.Second
	maxRetry         = 25 // of a task whose worker died or whose work failed
	changesTasks     = 64 // handled at once; they wait together
	requestTasks     = 1
	periodicTasks    = 4
	refreshQueueName = time.Minute
)
