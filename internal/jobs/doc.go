// Package jobs carries work between processes: tasks of the queue library,
// hints on a Redis list that wake a worker at once, and periodic runs.
//
// SQL is the truth. A task names a row that says what is to be done and how it
// ended; its handler claims the row, or reads what became of it. Everything in
// Redis may be lost or arrive twice: the sweep of every worker, which does not
// need Redis, finds the work within seconds, and no write of a client waits for
// the queue.
//
//	queue          task                             when
//	alds           changes:fanout {audit}           after each commit
//	alds           webhook:wake {subscription}      at the time of a delivery's next attempt
//	alds-requests  request:execute {request}        after a request was accepted; one at a time in each worker
//	alds-periodic  webhook:prune, bulk:forget, …    every period, run by the schedulers
//
// A hint is RPUSH alds:{hints} <audit>: workers block on the list, so that a
// fan-out starts before the queue is polled.
//
// A completed task has a result: rows (versions fanned out, commands executed)
// and duration. A task whose work is not done stays in retry until SQL says that
// it is; one that SQL has set aside is archived with the error. Ids are unique,
// so that a row has one task: changes:fanout:<audit>, request:execute:<uuid>,
// the others with the second for which they are scheduled.
//
// A worker in the process of the embedded Redis is woken directly, without tasks
// for commits and requests: no tool reads that Redis.
package jobs
