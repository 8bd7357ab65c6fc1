// Package webhook tells other systems of changes: subscriptions, the matching
// of changes with them, and snapshots.
//
// A change travels like this:
//
//	audit (waiting) --FanOut--> webhook_delivery (payload frozen) --delivery--> POST --> webhook_receipt
//
// The database is the queue of record. Whoever is woken claims what is due; a
// wake-up that never comes costs time until the next Sweep, never an event. The
// claim of an audit carries an owner's name that is used only once and a lease
// on the database's clock: a dead worker's work is free when the lease ends,
// and what a worker does after it lost a lease has no effect. Everything here
// may run twice and in several processes.
//
// Locks are taken in this order: generation, audit, subscription, delivery.
//
// It never knows HTTP servers or queues: it is called, and it calls WakeAt.
//
// Spec: interface 2.6, 2.7, 4.4, 6; compat 9, 20 to 24.
package webhook
