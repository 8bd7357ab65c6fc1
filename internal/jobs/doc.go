// Package jobs carries work between processes: tasks of the queue library, hints on a Redis
// list that wake a worker at once, and periodic runs.
//
// SQL is authoritative. A task refers to a row, which stores the work and its outcome. The
// handler of the task claims the row, or reads its outcome. Everything in Redis may be lost or
// may arrive twice. The sweep of every worker finds the work within seconds and does not need
// Redis. No write of a client waits for the queue.
//
//	queue          task                             when
//	alds           changes:fanout {audit}           after each commit
//	alds           webhook:wake {subscription}      at the time of a delivery's next attempt
//	alds-requests  request:execute {request}        after a request was accepted
//	alds-periodic  webhook:prune, bulk:forget, …    every period, run by the schedulers
//
// Each worker executes one request at a time.
//
// A hint is RPUSH alds:{hints} <audit>. Workers block on the list, so a fan-out starts before
// the queue is polled.
//
// A completed task has a result: rows (versions fanned out, commands executed) and duration.
// A task is retried until the database says that its work is done. If the work was set aside,
// the task is archived with the error. Ids are unique, so a row has one task:
// changes:fanout:<audit>, request:execute:<uuid>. The other ids contain the second for which
// the task is scheduled.
//
// A worker that runs in the same process as the embedded Redis is woken directly. There are no
// tasks for commits and requests then, since no tool reads the embedded Redis.
package jobs
