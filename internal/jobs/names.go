package jobs

import "time"

// The names in Redis.
const (
	queueName = "alds"
	hintList  = "alds:{hints}"

	requestHint = "request" // in the list: a request is to be carried out; everything else is an audit

	taskFanOut = "changes:fanout"
	taskWake   = "webhook:wake"
)

const (
	keptHints   = 64              // more say nothing new
	hintWait    = time.Second     // of one blocking read; bounds the time to shut down
	sweepEvery  = 2 * time.Second // of every worker
	backupDelay = time.Second     // of the backup task: the hint is expected to win
	redisAnswer = 2 * time.Second // of one command
	awayPause   = 250 * time.Millisecond
	taskTimeout = time.Minute
	maxRetry    = 3 // of a task whose worker died; handlers themselves never fail
)
