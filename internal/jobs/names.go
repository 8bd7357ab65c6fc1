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

// Limits of what Redis holds. maxPending limits waiting tasks, the retention completed ones,
// and the library archived ones (10,000 in each queue).
const (
	maxHints          = 64 // in the list; another hint would wake no other worker
	maxBacklog        = 10_000
	maxPending        = 10_000
	pendingAge        = time.Second // how long the number of pending tasks is used before it is read again
	retention         = time.Minute // of fan-outs and wakes
	requestRetention  = time.Hour
	periodicRetention = time.Hour
)

const (
	hintWait         = time.Second     // of one blocking read; limits the time to shut down
	sweepEvery       = 2 * time.Second // in every worker
	redisTimeout     = 2 * time.Second // of one command
	errorPause       = 250 * time.Millisecond
	drainTimeout     = time.Second
	lookupEvery      = 100 * time.Millisecond // for fan-outs that are not done
	pollEvery        = 100 * time.Millisecond // for pending tasks
	scheduledEvery   = time.Second            // for scheduled tasks that are due
	taskTimeout      = time.Minute
	executeTimeout   = time.Hour
	retryDelay       = 5 * time.Second
	maxRetry         = 25 // of a task whose worker died or whose work failed
	changesTasks     = 64 // tasks handled at once; they wait together
	requestTasks     = 1
	periodicTasks    = 4
	refreshQueueName = time.Minute
)
