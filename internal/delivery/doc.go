// Package delivery sends frozen payloads to the receivers of webhooks. The newest
// attempts of a subscription leave receipts.
//
//	Insert (row, waiting) --claim--> queue --POST--> classify --> row settled, receipt
//
// The rows are the queue of record; the queues in memory hold what this process
// has claimed of them. One sender at a time has a queue for a subscription and
// sends its deliveries in order. A queue that waits holds no slot. A receiver
// that fails has a circuit breaker, which is stored with its subscription.
//
// A claim has a lease (package lease). The name of its owner, which one sender
// uses once, is the fence: results of a lost claim change no delivery.
//
// The package knows addresses and counters of subscriptions, not their rules.
// Locks are taken in this order: subscription, delivery.
//
// Spec: interface 2.7, 4.4, 6.2.
package delivery
