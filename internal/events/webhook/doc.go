// Package webhook manages subscriptions and turns changes into deliveries.
//
//	audit (waiting) --FanOut--> webhook_delivery (payload frozen) --delivery--> POST --> webhook_receipt
//
// A subscription is a target with rules, one for each event definition; package
// event matches, evaluates and prints.
//
// The database is the queue of record. A worker claims waiting audits by leases
// (package lease), or sets the mark of fresh ones where nobody has claimed them; a
// lost wake-up delays them until the next Sweep. All work is
// idempotent and may run in several processes.
//
// Locks are taken in this order: generation, audit, subscription, delivery.
//
// The package knows neither HTTP servers nor task queues.
//
// Spec: interface 2.6, 2.7, 4.4, 6.2.
package webhook
