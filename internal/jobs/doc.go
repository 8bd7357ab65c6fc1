// Package jobs carries work between processes. It uses tasks of the queue library, hints on a Redis
// list that wake a worker at once, and periodic runs.
//
// The database is authoritative, not Redis. A task refers to a database row, which stores the work
// and its outcome. The handler of the task claims the row, or reads its outcome. Everything in
// Redis may be lost or may arrive twice. Every worker also sweeps: it looks for work in the
// database every two seconds, without Redis. No write of a client waits for the queue.
//
//	queue          task                             when
//	alds           changes:fanout {audit}           after each commit
//	alds           webhook:wake {subscription}      at the time of a delivery's next attempt
//	alds-requests  request:execute {request}        after a request was accepted
//	alds-periodic  webhook:prune, bulk:forget, …    every period, run by the schedulers
//
// Each worker executes one request at a time.
//
// A hint is RPUSH alds:{hints} <audit>. Workers block on this list. So a fan-out starts at once,
// and not only when a worker polls the queue the next time.
//
// A completed task has a result with the duration and the number of rows (versions fanned out, or
// commands executed). A task is retried until its work is done according to the database. If the
// work was set aside, the task is archived with the error. The ids of tasks are unique.
// changes:fanout:<audit> and request:execute:<uuid> contain the id of the row, so a row has one
// task. The other ids contain the time for which the task is scheduled, as a number of seconds.
//
// If Redis is embedded, a worker in the same process is woken directly. Commits and requests then
// have no tasks: a task would only show the work to monitoring tools, and no tool reads the
// embedded Redis.
package jobs
