// Package jobs is the way work travels between processes: hints on a plain
// Redis list, tasks of the queue library, and periodic runs.
//
// Nothing here holds work. A hint or a task only says "look into the database";
// whoever is woken claims what it finds there. So everything may be lost or
// come twice: while Redis is away the sweep of every worker, which needs no
// Redis, finds the work within seconds, and no write of a client waits for it.
//
//	hint   RPUSH alds:{hints} <audit>     a commit happened; every worker blocks on the list
//	hint   RPUSH alds:{hints} request     a request was accepted, to be carried out by a worker
//	task   changes:fanout                 the same, as a backup, at most one a second
//	task   webhook:wake {subscription}    a delivery's next attempt is due
//
// Handlers never report a business failure to the queue library: its archive
// ends work silently. Every task id carries its second, so that one that was
// left behind never blocks the next.
package jobs
