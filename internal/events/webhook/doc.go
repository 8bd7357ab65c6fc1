// Package webhook manages subscriptions and turns changes into deliveries.
//
//	audit (waiting) --FanOut--> webhook_delivery (final payload) --delivery--> POST --> webhook_receipt
//
// An audit is the row of one write, with all changes of the write. A subscription is a target with
// rules: one rule for each event definition. Package event matches the rules with changes,
// evaluates their filters and prints the events.
//
// The queue is the table audit. A worker claims waiting audits with leases (see package lease). It
// fans out audits of the last second without a claim, and marks them as done only if no other
// worker has claimed them. If a wake-up is lost, its audits wait until the next sweep. All work is
// idempotent and may run in several processes.
//
// Locks are acquired in this order: generation, audit, subscription, delivery.
//
// The package contains no HTTP server and no task queue.
//
// Spec: interface 2.6, 2.7, 4.4, 6.2.
package webhook
